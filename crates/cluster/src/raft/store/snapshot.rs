//! A saved state on its way from one member to another.

use std::fs::File;
use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use bellwether_journal::disk::SnapshotFiles;
use bellwether_journal::{Head, OpenError, Snapshots as _};
use openraft::EntryPayload;

use super::Store;
use super::applied::Mark;
use super::schema::{self, Database, StoreError};
use crate::raft::types::LogId;

/// The file as it lies on the disk, header and hash included: what arrives is checked as what is read.
#[derive(Debug)]
pub(crate) struct SnapshotFile {
    pub(crate) mark: Mark,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Of a journal without records.
    Empty,
    Kept(File),
    /// Complete and checked, but not yet this member's own.
    Received(PathBuf),
}

impl Store {
    /// The last place in the log whose past ends at `head`.
    pub(super) fn place_of(&self, head: Head) -> Result<Option<LogId>, StoreError> {
        let (last, base) = {
            let applied = self.applied();
            if applied.head().seq <= head.seq {
                return Ok(applied.last());
            }
            (applied.last(), applied.base().last)
        };
        let database = self.reads();
        let Some(next) = database.starting_at(head.seq.next())? else { return Ok(last) };
        let before = match next.checked_sub(1) {
            Some(index) => database.entry_at(index)?,
            None => None,
        };
        Ok(before.map(|entry| entry.log_id).or(base))
    }

    /// The index of the last record whose entries all lie before `seq`.
    pub(crate) fn index_before(&self, seq: Seq) -> Option<u64> {
        let database = self.reads();
        let holder = database.holder_of(seq).ok()??;
        match database.entry_at(holder).ok()??.payload {
            EntryPayload::Normal(proposal) if proposal.head.seq < seq => Some(holder),
            EntryPayload::Normal(_) | EntryPayload::Blank | EntryPayload::Membership(_) => {
                holder.checked_sub(1)
            }
        }
    }
}

/// A process that ended while it took over a snapshot has it either way: as its own or not at all.
pub(super) fn finish_installation(database: &mut Database, dir: &Path) -> Result<(), OpenError> {
    let Some(mark) = database.installing().map_err(schema::open_error)? else { return Ok(()) };
    let arrived = SnapshotFiles::new(dir).head()? == Some(mark.head);
    let finished = database.transaction(|database| {
        if arrived {
            database.write_base(&mark)?;
            if let Some(last) = mark.last {
                database.forget_up_to(last.index)?;
            }
        }
        database.write_installing(None)
    });
    finished.map_err(schema::open_error)
}
