//! The log as openraft sees it: entries, vote and committed mark.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{AnyError, EntryPayload, LogState, OptionalSend, RaftLogReader, StorageIOError};

use super::schema::Row;
use super::writer::{Change, Done, Work};
use super::{Store, other};
use crate::raft::types::{LogEntry, LogId, Records, StorageError, Vote};

/// The last entries stay in memory, for replication: about so many bytes.
const TAIL_BYTES_MAX: usize = 64 << 20;
/// Entries of about so many bytes go into one message, or signs of life would have to wait for them.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// What an entry takes besides its record.
const ENTRY_BYTES: usize = 128;

#[derive(Debug, Clone)]
pub(crate) struct LogStore {
    store: Store,
}

/// What is known without asking the disk.
#[derive(Debug)]
pub(super) struct Tail {
    purged: Option<LogId>,
    pub(super) last: Option<LogId>,
    pub(super) vote: Option<Vote>,
    committed: Option<LogId>,
    entries: VecDeque<LogEntry>,
    bytes: usize,
}

impl Tail {
    pub(super) fn new(
        purged: Option<LogId>,
        last: Option<LogId>,
        vote: Option<Vote>,
        committed: Option<LogId>,
    ) -> Tail {
        Tail { purged, last, vote, committed, entries: VecDeque::new(), bytes: 0 }
    }

    fn push(&mut self, entry: LogEntry) {
        self.last = Some(entry.log_id);
        self.bytes += size(&entry);
        self.entries.push_back(entry);
        while self.bytes > TAIL_BYTES_MAX && self.entries.len() > 1 {
            self.pop_front();
        }
    }

    fn pop_front(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= size(&entry);
        }
    }

    fn cut_from(&mut self, index: u64) {
        while self.entries.back().is_some_and(|entry| entry.log_id.index >= index) {
            if let Some(entry) = self.entries.pop_back() {
                self.bytes -= size(&entry);
            }
        }
    }

    fn cut_up_to(&mut self, index: u64) {
        while self.entries.front().is_some_and(|entry| entry.log_id.index <= index) {
            self.pop_front();
        }
    }

    /// Entries of the range, if all that there are of it are in memory.
    fn range(&self, start: u64, end: u64, bytes_max: usize) -> Option<Vec<LogEntry>> {
        let oldest = self.entries.front()?.log_id.index;
        if start < oldest {
            return None;
        }
        let mut bytes = 0;
        let skip = usize::try_from(start - oldest).ok()?;
        let within = self.entries.iter().skip(skip).take_while(|entry| entry.log_id.index < end);
        let fitting = within.take_while(|entry| {
            let fits = bytes < bytes_max;
            bytes += size(entry);
            fits
        });
        Some(fitting.cloned().collect())
    }
}

fn size(entry: &LogEntry) -> usize {
    match &entry.payload {
        EntryPayload::Normal(proposal) => ENTRY_BYTES + proposal.record.len(),
        EntryPayload::Blank | EntryPayload::Membership(_) => ENTRY_BYTES,
    }
}

impl LogStore {
    pub(super) fn new(store: Store) -> LogStore {
        LogStore { store }
    }

    #[expect(clippy::result_large_err, reason = "openraft wants its own error")]
    fn read(&self, start: u64, end: u64, bytes_max: usize) -> Result<Vec<LogEntry>, StorageError> {
        if let Some(entries) = self.store.tail().range(start, end, bytes_max) {
            return Ok(entries);
        }
        let mut entries = Vec::new();
        let mut next = start;
        let mut bytes = 0;
        while next < end && bytes < bytes_max {
            let fetched = self.store.reads().fetch(next, end).map_err(read_failed)?;
            let Some(last) = fetched.last() else { break };
            next = last.log_id.index + 1;
            bytes += fetched.iter().map(size).sum::<usize>();
            entries.extend(fetched);
        }
        Ok(entries)
    }
}

impl RaftLogReader<Records> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<LogEntry>, StorageError> {
        let start = match range.start_bound() {
            Bound::Included(index) => *index,
            Bound::Excluded(index) => index.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(index) => index.saturating_add(1),
            Bound::Excluded(index) => *index,
            Bound::Unbounded => u64::MAX,
        };
        self.read(start, end, usize::MAX)
    }

    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<LogEntry>, StorageError> {
        self.read(start, end, MESSAGE_BYTES_MAX)
    }
}

impl RaftLogStorage<Records> for LogStore {
    type LogReader = LogStore;

    async fn get_log_state(&mut self) -> Result<LogState<Records>, StorageError> {
        let tail = self.store.tail();
        Ok(LogState { last_purged_log_id: tail.purged, last_log_id: tail.last })
    }

    async fn get_log_reader(&mut self) -> LogStore {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        let saved = self.store.shared.writer.change(Change::Vote(*vote)).await;
        saved.map_err(|error| StorageIOError::write_vote(AnyError::new(&error)))?;
        self.store.tail().vote = Some(*vote);
        Ok(())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(self.store.tail().vote)
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        self.store.tail().committed = committed;
        if let Some(committed) = committed {
            self.store.shared.writer.send(Work::Committed(committed)).map_err(write_failed)?;
        }
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(self.store.tail().committed)
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<Records>,
    ) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut rows = Vec::new();
        {
            let mut tail = self.store.tail();
            for entry in entries {
                rows.push(Row::of(&entry));
                tail.push(entry);
            }
        }
        let work = Work::Append { rows, done: Done::Flushed(callback) };
        self.store.shared.writer.send(work).map_err(write_failed)
    }

    async fn truncate(&mut self, since: LogId) -> Result<(), StorageError> {
        let cut = self.store.shared.writer.change(Change::TruncateFrom(since.index)).await;
        cut.map_err(write_failed)?;
        let purged = self.store.tail().purged.map(|purged| purged.index);
        let before = match since.index.checked_sub(1) {
            Some(index) if Some(index) > purged => {
                self.store.reads().entry_at(index).map_err(read_failed)?
            }
            Some(_) | None => None,
        };
        let mut tail = self.store.tail();
        tail.cut_from(since.index);
        tail.last = before.map(|entry| entry.log_id).or(tail.purged);
        Ok(())
    }

    async fn purge(&mut self, upto: LogId) -> Result<(), StorageError> {
        let base = {
            let head = self.store.reads().head_at(upto.index).map_err(read_failed)?;
            let applied = self.store.applied();
            // What a snapshot has replaced says nothing about the journal.
            if applied.base().last.is_some_and(|base| base.index >= upto.index) {
                applied.base().clone()
            } else {
                applied.mark(Some(upto), head.unwrap_or(applied.base().head))
            }
        };
        let change = Change::ForgetUpTo(upto.index, base.clone());
        self.store.shared.writer.change(change).await.map_err(write_failed)?;
        self.store.applied().set_base(base);
        let mut tail = self.store.tail();
        tail.cut_up_to(upto.index);
        tail.purged = Some(upto);
        tail.last = tail.last.max(Some(upto));
        Ok(())
    }
}

fn write_failed(error: std::io::Error) -> StorageError {
    StorageIOError::write_logs(AnyError::new(&error)).into()
}

fn read_failed(error: super::schema::StoreError) -> StorageError {
    StorageIOError::read_logs(AnyError::new(&other(error))).into()
}
