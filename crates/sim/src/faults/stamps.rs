//! When things were decided, by the world's time and not by the scheduler's.

use std::collections::BTreeMap;

use bellwether_core::model::Seq;

/// A moment of the world, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub time: u64,
    /// How much of it a scheduler was there to listen.
    pub listened: u64,
}

/// The moments of decisions, by the last position of each.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    by_last: BTreeMap<Seq, Stamp>,
    latest: Stamp,
    reign: u32,
}

impl Stamps {
    /// Positions behind `before` up to `last` were decided just now. What a scheduler decides that has
    /// been deposed will not become durable.
    pub(crate) fn decided(&mut self, before: Seq, last: Seq, at: Stamp, by: u32) {
        if by < self.reign {
            return;
        }
        self.reign = by;
        self.latest = at;
        // What an earlier scheduler had decided for these positions has not happened.
        self.by_last.split_off(&before.next());
        if last > before {
            self.by_last.insert(last, at);
        }
    }

    pub(crate) fn of(&self, seq: Seq) -> Stamp {
        let next = self.by_last.range(seq..).next();
        next.map_or(self.latest, |(_, stamp)| *stamp)
    }

    /// Of the latest command that the reigning scheduler handled.
    pub(crate) fn latest(&self) -> Stamp {
        self.latest
    }
}
