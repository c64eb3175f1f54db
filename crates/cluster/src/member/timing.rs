//! How long a member waits for what.

use bellwether_core::model::Micros;

use crate::door::MemberId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// For so long after it has heard of a leader a member promises its vote to nobody else.
    pub lease: Micros,
    /// What a leader takes off that promise for itself: clocks do not run equally fast.
    pub margin: Micros,
    /// Between two signs of life of a leader.
    pub heartbeat: Micros,
    /// Members hear the last sign of life at slightly different times. Whoever stands sooner than
    /// this after its own promise has ended meets one whose promise has not.
    pub patience: Micros,
    /// Each member waits this much longer than the one before it, so that one stands first.
    pub stagger: Micros,
    /// And up to this much more, by chance.
    pub jitter: Micros,
    /// Whoever is not elected by then stands again.
    pub round: Micros,
    /// A leader that has heard of no majority for so long beyond its lease gives up.
    pub grace: Micros,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            lease: Micros::from_millis(200),
            margin: Micros::from_millis(10),
            heartbeat: Micros::from_millis(40),
            patience: Micros::from_millis(20),
            stagger: Micros::from_millis(30),
            jitter: Micros::from_millis(20),
            round: Micros::from_millis(100),
            grace: Micros::from_millis(200),
        }
    }
}

impl Timing {
    /// In the same proportions, with another lease.
    pub fn with_lease(lease: Micros) -> Timing {
        let usual = Timing::default();
        let scaled = |part: Micros| Micros(part.0.saturating_mul(lease.0) / usual.lease.0);
        Timing {
            lease,
            margin: scaled(usual.margin),
            heartbeat: scaled(usual.heartbeat),
            grace: scaled(usual.grace),
            // These are about how long messages take, whatever the lease.
            ..usual
        }
    }
}

/// Chance that is the same for the same seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    pub(super) fn new(seed: u64, id: MemberId) -> Chance {
        Chance { seed: mix(seed ^ u64::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)), drawn: 0 }
    }

    /// Less than `limit`.
    pub(super) fn up_to(&mut self, limit: Micros) -> Micros {
        self.drawn += 1;
        Micros(mix(self.seed.wrapping_add(self.drawn)) % limit.0.max(1))
    }
}

/// Every bit of the result depends on every bit of the argument.
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
