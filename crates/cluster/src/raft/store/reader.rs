//! Committed records out of the log, verified one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Seq;
use bellwether_journal::disk::SnapshotFiles;
use bellwether_journal::{Damage, Flaw, Head, ReadError, Reader, Record, Records, Snapshots};
use openraft::EntryPayload;

use super::schema::{self, Database, StoreError};
use crate::raft::types::{LogEntry, Proposal};

#[derive(Debug)]
pub(super) struct StoreReader {
    database: Database,
    readable: Arc<AtomicU64>,
    dir: PathBuf,
}

impl StoreReader {
    pub(super) fn new(database: Database, readable: Arc<AtomicU64>, dir: &Path) -> StoreReader {
        StoreReader { database, readable, dir: dir.to_owned() }
    }
}

impl Reader for StoreReader {
    fn base(&self) -> Result<Head, ReadError> {
        Ok(self.database.base().map_err(schema::read_error)?.head)
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        let base = self.base()?;
        if from <= base.seq {
            return Err(ReadError::Truncated { first: base.seq.next() });
        }
        let readable = self.readable.load(Ordering::Acquire);
        let holder = self.database.holder_of(from).map_err(schema::read_error)?;
        let Some(holder) = holder else { return Ok(Box::new(std::iter::empty())) };
        let mut head = None;
        let entries = self.database.entries_after(holder.checked_sub(1));
        let committed = entries.take_while(move |entry| {
            entry.as_ref().map_or(true, |entry| entry.log_id.index <= readable)
        });
        let records = committed.filter_map(move |entry| record(entry, &mut head).transpose());
        let wanted = records.filter_map(move |record| match record {
            Ok(mut record) => {
                record.entries.retain(|entry| entry.seq >= from);
                (!record.entries.is_empty()).then_some(Ok(record))
            }
            Err(error) => Some(Err(error)),
        });
        Ok(Box::new(wanted))
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}

/// The record of an entry that has one. It must follow the one before.
fn record(
    entry: Result<LogEntry, StoreError>,
    head: &mut Option<Head>,
) -> Result<Option<Record>, ReadError> {
    let proposal: Proposal = match entry.map_err(schema::read_error)?.payload {
        EntryPayload::Blank | EntryPayload::Membership(_) => return Ok(None),
        EntryPayload::Normal(proposal) => proposal,
    };
    if head.is_some_and(|head| head != proposal.prior) {
        return Err(Damage { at: proposal.prior.seq.next(), flaw: Flaw::Chain }.into());
    }
    *head = Some(proposal.head);
    Ok(Some(Record::verified(proposal.prior, proposal.head.chain, proposal.record)?))
}
