//! When to save the state, and what may then be forgotten. The only place that knows how the state
//! becomes bytes and comes back.

use bellwether_core::Engine;
use bellwether_core::model::{Config, Seq};
use bellwether_journal::{Head, Snapshot, SnapshotError, state};

use crate::defect::Defect;
use crate::edge::Edge;
use crate::host::Host;
use crate::reply::Reply;

/// The engine that a snapshot stands for; what the journal holds behind it is still to be replayed.
/// The configuration that an empty journal starts with is the default one: any other is an event.
pub fn restore(snapshot: Option<&Snapshot>) -> Result<Engine, SnapshotError> {
    match snapshot {
        Some(snapshot) => state::decode(&snapshot.bytes),
        None => Ok(Engine::new(Config::default())),
    }
}

#[derive(Debug)]
pub(crate) struct Schedule {
    every: u64,
    /// The position of the last one that was begun.
    last: Seq,
    /// The last that is saved, and the one before.
    saved: Seq,
    saved_before: Seq,
    writing: bool,
}

impl Schedule {
    /// `saved` is the position of the snapshot that is there.
    pub(crate) fn new(every: u64, saved: Seq) -> Schedule {
        Schedule { every, last: saved, saved, saved_before: saved, writing: false }
    }

    pub(crate) fn is_due(&self, durable: Seq) -> bool {
        !self.writing && durable.0 - self.last.0.min(durable.0) >= self.every
    }
}

impl<E: Edge> Host<E> {
    /// Somebody wants the state as soon as all of it is durable.
    pub fn handle_snapshot_wish(&mut self, asker: E::Asker<Snapshot>) {
        match self.mode.is_silent() {
            Some(why) => self.replies.give(Reply::Snapshot(asker, Err(why))),
            None => self.snapshots_wanted.push(asker),
        }
    }

    /// A snapshot to save, if one is due and all of the state is durable. Say what became of it
    /// with [`Host::handle_snapshot_saved`]; no other is due until then.
    pub fn poll_snapshot(&mut self) -> Option<Snapshot> {
        let due = self.schedule.is_due(self.durable.seq) && !self.mode.is_full();
        let quiet = self.is_durable() || self.has(Defect::SnapshotBeforeDurable);
        if !quiet || (!due && self.snapshots_wanted.is_empty()) {
            return None;
        }
        let snapshot = self.snapshot();
        for asker in self.snapshots_wanted.drain(..) {
            self.replies.give(Reply::Snapshot(asker, Ok(snapshot.clone())));
        }
        if !due {
            return None;
        }
        self.schedule.last = snapshot.head.seq;
        self.schedule.writing = true;
        Some(snapshot)
    }

    /// Gives the position before which the journal is no longer needed for recovery, if the
    /// snapshot is there.
    pub fn handle_snapshot_saved(&mut self, head: Head, is_saved: bool) -> Option<Seq> {
        self.schedule.writing = false;
        if !is_saved {
            return None;
        }
        let schedule = &mut self.schedule;
        schedule.saved_before = std::mem::replace(&mut schedule.saved, head.seq);
        Some(schedule.saved_before.next())
    }

    /// What to save before the end, so that the next start is short.
    pub fn last_snapshot(&self) -> Option<Snapshot> {
        let wanted = !self.schedule.writing && self.durable.seq > self.schedule.saved;
        (wanted && self.is_durable()).then(|| self.snapshot())
    }

    fn snapshot(&self) -> Snapshot {
        let head = Head { seq: self.engine.last_seq(), chain: self.durable.chain };
        Snapshot { head, bytes: state::encode(self.engine.state()).into() }
    }
}
