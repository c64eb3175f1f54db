//! Durable entries on their way to the registry.

use bellwether_core::Entry;
use bellwether_core::model::Seq;
use bellwether_journal::Head;

#[derive(Debug, Default)]
pub(crate) struct Feed {
    position: Seq,
}

impl Feed {
    /// Never waits.
    pub(crate) fn push(&mut self, head: Head, entries: Vec<Entry>) {
        drop(entries);
        self.position = head.seq;
    }

    /// How far the registry has read; the journal must keep what lies behind.
    pub(crate) fn position(&self) -> Seq {
        self.position
    }

    pub(crate) fn close(self) {}
}
