//! Reads on from a position, at its owner's pace.

use std::collections::VecDeque;
use std::sync::Arc;

use bellwether_core::model::Seq;
use bellwether_journal::Record;

use super::{History, HistoryError, Seen, Watching};
use crate::projections::registry::{LookupError, Registry};

/// Entries that are read at a time, about: a record is read as a whole.
const READ_ENTRIES: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Cursor {
    history: History,
    registry: Registry,
    next: Seq,
    /// What was read; the first holds what is next.
    records: VecDeque<Arc<Record>>,
    _watching: Watching,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CursorError {
    #[error(transparent)]
    Read(#[from] HistoryError),
    #[error(transparent)]
    Names(#[from] LookupError),
}

impl Cursor {
    pub(super) fn new(history: History, registry: Registry, next: Seq) -> Cursor {
        let watching = history.tail.watch();
        Cursor { history, registry, next, records: VecDeque::new(), _watching: watching }
    }

    pub(crate) fn next(&self) -> Seq {
        self.next
    }

    /// Leaves out what comes before.
    pub(crate) fn skip_to(&mut self, next: Seq) {
        self.next = next;
        self.drop_read();
    }

    /// The next events, at most so many, and none beyond `durable`: a journal may know of more than
    /// has been announced.
    pub(crate) async fn read(&mut self, durable: Seq, max: u64) -> Result<Vec<Seen>, CursorError> {
        if self.records.is_empty() {
            self.records = self.history.read(self.next, READ_ENTRIES).await?.into();
        }
        let Some(last) = self.records.back().map(|record| record.head().seq) else {
            return Ok(Vec::new());
        };
        let last = last.min(durable).min(Seq(self.next.0.saturating_add(max) - 1));
        let records = self.records.make_contiguous();
        let names = &self.history.names;
        let seen = names.attach_names(records, self.next, last, &self.registry).await?;
        self.next = self.next.max(last.next());
        self.drop_read();
        Ok(seen)
    }

    fn drop_read(&mut self) {
        while self.records.front().is_some_and(|record| record.head().seq < self.next) {
            self.records.pop_front();
        }
    }
}
