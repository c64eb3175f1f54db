//! A machine's disk: writes become durable in order, some time after they were asked for.

use std::collections::VecDeque;

use super::log::{Members, Stored, Write};
use crate::faults::random::Random;

/// Of a healthy disk, in microseconds.
const SYNC_MIN: u64 = 150;
const SYNC_MAX: u64 = 6_000;

#[derive(Debug)]
pub(crate) struct Disk {
    kept: Stored,
    writes: VecDeque<Write>,
    done: u64,
    /// How many times slower than usual.
    pub(crate) slowness: u64,
    busy_until: u64,
}

impl Disk {
    pub(crate) fn new(members: Members) -> Disk {
        let kept = Stored::new(members);
        Disk { kept, writes: VecDeque::new(), done: 0, slowness: 1, busy_until: 0 }
    }

    /// The number of the write, and when it will be durable.
    pub(crate) fn write(&mut self, now: u64, random: &mut Random, write: Write) -> (u64, u64) {
        self.writes.push_back(write);
        let latency = random.skewed(SYNC_MIN, SYNC_MAX) * self.slowness;
        self.busy_until = self.busy_until.max(now + latency);
        (self.done + self.writes.len() as u64, self.busy_until)
    }

    /// The last that was asked for and is not durable.
    pub(crate) fn last_write(&self) -> Option<u64> {
        (!self.writes.is_empty()).then_some(self.done + self.writes.len() as u64)
    }

    /// Everything up to this write is durable.
    pub(crate) fn synced(&mut self, write: u64) {
        while self.done < write
            && let Some(next) = self.writes.pop_front()
        {
            self.kept.apply(next);
            self.done += 1;
        }
    }

    /// Of what was under way, only a beginning is kept.
    pub(crate) fn crash(&mut self, random: &mut Random) {
        let kept = random.index(self.writes.len() + 1) as u64;
        self.synced(self.done + kept);
        self.done += self.writes.len() as u64;
        self.writes.clear();
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.kept
    }

    /// Everything is gone.
    pub(crate) fn wipe(&mut self, members: Members) {
        self.kept = Stored::new(members);
        self.done += self.writes.len() as u64;
        self.writes.clear();
    }
}
