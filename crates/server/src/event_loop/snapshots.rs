//! When to save the state, and what may then be forgotten.

use std::sync::mpsc::Sender;

use bellwether_core::model::Seq;
use bellwether_journal::{Head, Snapshot, SnapshotError, Snapshots};
use bytes::Bytes;

use super::message::Message;

/// A snapshot that has been written, or not, and the place to write the next one to.
pub(crate) struct Saved {
    pub(super) head: Head,
    pub(super) result: Result<(), SnapshotError>,
    pub(super) store: Box<dyn Snapshots>,
}

impl std::fmt::Debug for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saved").field("head", &self.head).field("result", &self.result).finish()
    }
}

pub(super) struct Schedule {
    every: u64,
    /// The position of the last one that was begun.
    last: Seq,
    /// The last that is saved, and the one before.
    saved: Seq,
    saved_before: Seq,
    /// None while one is being written.
    store: Option<Box<dyn Snapshots>>,
}

impl Schedule {
    pub(super) fn new(every: u64, store: Box<dyn Snapshots>) -> Result<Schedule, SnapshotError> {
        let saved = store.load()?.map_or(Seq(0), |snapshot| snapshot.head.seq);
        Ok(Schedule { every, last: saved, saved, saved_before: saved, store: Some(store) })
    }

    pub(super) fn is_due(&self, durable: Seq) -> bool {
        self.store.is_some() && durable.0 - self.last.0.min(durable.0) >= self.every
    }

    /// Writes it on a thread of its own, because that may take as long as the disk likes.
    pub(super) fn save(
        &mut self,
        head: Head,
        bytes: Vec<u8>,
        inbox: &Sender<Message>,
    ) -> std::io::Result<()> {
        let Some(store) = self.store.take() else { return Ok(()) };
        self.last = head.seq;
        let inbox = inbox.clone();
        std::thread::Builder::new().name("snapshot".to_owned()).spawn(move || {
            let result = store.save(&Snapshot { head, bytes: Bytes::from(bytes) });
            // The loop may have ended meanwhile; the snapshot is saved all the same.
            drop(inbox.send(Message::SnapshotSaved(Saved { head, result, store })));
        })?;
        Ok(())
    }

    /// Gives the position before which the journal is no longer needed for recovery.
    pub(super) fn saved(&mut self, saved: Saved) -> Result<Seq, SnapshotError> {
        self.store = Some(saved.store);
        saved.result?;
        self.saved_before = std::mem::replace(&mut self.saved, saved.head.seq);
        Ok(self.saved_before.next())
    }

    pub(super) fn save_now(&self, head: Head, bytes: Vec<u8>) -> Result<(), SnapshotError> {
        match &self.store {
            Some(store) if head.seq > self.saved => {
                store.save(&Snapshot { head, bytes: Bytes::from(bytes) })
            }
            _ => Ok(()),
        }
    }
}
