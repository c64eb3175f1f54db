//! How long a reign lasts without a word, and how often one is given.

use std::time::Duration;

use bellwether_core::model::Micros;

use crate::clock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedOptions {
    /// Another may take over when the log has heard nothing from a leader for so long.
    pub lease: Duration,
    pub renew_every: Duration,
    /// How often a follower looks for what is new.
    pub poll_every: Duration,
    /// A leader takes its lease for over so much earlier than the log does: their clocks need not run
    /// equally fast.
    pub margin: Duration,
}

impl Default for SharedOptions {
    fn default() -> SharedOptions {
        SharedOptions {
            lease: Duration::from_millis(500),
            renew_every: Duration::from_millis(125),
            poll_every: Duration::from_millis(25),
            margin: Duration::from_millis(25),
        }
    }
}

impl SharedOptions {
    /// When a lease ends that was asked for at this moment, as far as the leader may rely on it. The
    /// log counts from when it was asked, which is later.
    pub(super) fn end_of_lease(&self, asked: Micros) -> Micros {
        asked + clock::micros(self.lease.saturating_sub(self.margin))
    }
}
