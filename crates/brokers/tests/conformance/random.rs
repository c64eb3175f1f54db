//! Numbers from a seed that is printed, so that a failure can be tried again.

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct Random(u64);

impl Random {
    /// From `BELLWETHER_SEED`, or else from the clock.
    pub(crate) fn new(purpose: &str) -> Self {
        let given = std::env::var("BELLWETHER_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = given.unwrap_or(u64::from(now.subsec_nanos()));
        eprintln!("{purpose}: BELLWETHER_SEED={seed}");
        Self(seed)
    }

    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}
