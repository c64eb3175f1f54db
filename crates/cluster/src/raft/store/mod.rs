//! What a member keeps on its disk: the common log, its vote, and how far both are committed.
//!
//! The records of the journal are the log itself up to what is committed; there is no second copy. One
//! thread writes, one sync an append. The committed mark is written along with the next append: what
//! was committed since is told again by whoever leads.

mod applied;
mod log;
mod machine;
mod reader;
mod schema;
mod snapshot;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bellwether_core::model::Seq;
use bellwether_journal::disk::{DirectoryLock, SnapshotFiles};
use bellwether_journal::{Damage, Flaw, Head, OpenError, ReadError, Reader, Snapshots};
use openraft::EntryPayload;

use super::bell::Bell;
use super::types::{LogId, Vote};
use crate::door::MemberId;
pub(crate) use applied::{Applied, Mark};
pub(crate) use log::LogStore;
use log::Tail;
pub(crate) use machine::Machine;
use reader::StoreReader;
use schema::Database;
pub(crate) use schema::{mark_from_wire, mark_to_wire};
pub(crate) use snapshot::{Content, SnapshotFile};
use writer::Writer;

/// Opened by one process at a time. Clones are the same store.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    // openraft has a task that appends, one that applies and one for each member that it sends to; whoever
    // drives the cluster looks, too. Held for no wait.
    tail: Mutex<Tail>,
    applied: Mutex<Applied>,
    /// The index up to which readers may read.
    readable: Arc<AtomicU64>,
    // A connection of SQLite is used by one at a time; readers that go on for long have their own.
    reads: Mutex<Database>,
    writer: Writer,
    bell: Bell,
    _lock: DirectoryLock,
}

impl Store {
    /// The member that the directory belongs to, if it belongs to one.
    pub(crate) fn owner(dir: &Path) -> Result<Option<MemberId>, OpenError> {
        if !Database::is_in(dir) {
            return Ok(None);
        }
        let database = Database::look(dir).map_err(schema::open_error)?;
        database.owner().map_err(schema::open_error)
    }

    /// Opens the log in the directory, or begins one there for this member.
    pub(crate) fn open(dir: &Path, id: MemberId, bell: &Bell) -> Result<Store, OpenError> {
        std::fs::create_dir_all(dir)?;
        let lock = DirectoryLock::take(dir)?;
        let mut database = Database::open(dir, id).map_err(schema::open_error)?;
        snapshot::finish_installation(&mut database, dir)?;
        let base = database.base().map_err(schema::open_error)?;
        let applied = replay(&database, dir, base)?;
        let tail = open_tail(&database, id, &applied)?;
        let reads = Database::look(dir).map_err(schema::open_error)?;
        let readable = Arc::new(AtomicU64::new(applied.index().unwrap_or(0)));
        let writer = Writer::start(database, applied.base().last.map(|base| base.index))?;
        let shared = Shared {
            dir: dir.to_owned(),
            tail: Mutex::new(tail),
            applied: Mutex::new(applied),
            readable,
            reads: Mutex::new(reads),
            writer,
            bell: bell.clone(),
            _lock: lock,
        };
        Ok(Store { shared: Arc::new(shared) })
    }

    pub(crate) fn log(&self) -> LogStore {
        LogStore::new(self.clone())
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::new(self.clone())
    }

    pub(crate) fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(self.files())
    }

    pub(crate) fn files(&self) -> SnapshotFiles {
        SnapshotFiles::new(&self.shared.dir)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// What is committed, for those who only look.
    pub(crate) fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        let database = Database::look(&self.shared.dir).map_err(schema::read_error)?;
        let readable = Arc::clone(&self.shared.readable);
        Ok(Box::new(StoreReader::new(database, readable, &self.shared.dir)))
    }

    /// The log of a member, whether or not it runs.
    pub(crate) fn look(dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        let database = Database::look(dir).map_err(schema::open_error)?;
        let committed = database.committed().map_err(schema::open_error)?;
        let readable = Arc::new(AtomicU64::new(committed.map_or(0, |log_id| log_id.index)));
        Ok(Box::new(StoreReader::new(database, readable, dir)))
    }

    pub(crate) fn applied(&self) -> MutexGuard<'_, Applied> {
        self.shared.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn vote(&self) -> Option<Vote> {
        self.tail().vote
    }

    pub(crate) fn last(&self) -> Option<LogId> {
        self.tail().last
    }

    /// For how long the disk has been asked for something that it has not done yet.
    pub(crate) fn stuck_for(&self) -> std::time::Duration {
        self.shared.writer.stuck_for()
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.shared.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reads(&self) -> MutexGuard<'_, Database> {
        self.shared.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More is applied.
    fn announce(&self, applied: &Applied) {
        self.shared.readable.store(applied.index().unwrap_or(0), Ordering::Release);
        self.shared.bell.ring();
    }
}

/// Reads what is known to be committed, verified. A snapshot was taken of what is, too, and what it stands for
/// is not read again: a start takes as long as what has happened since, not as what is kept.
fn replay(database: &Database, dir: &Path, base: Mark) -> Result<Applied, OpenError> {
    let snapshot = SnapshotFiles::new(dir).head()?;
    let committed = database.committed().map_err(schema::open_error)?;
    let mut applied = match snapshot {
        Some(head) if head.seq > base.head.seq => from_snapshot(database, &base, head)?,
        Some(_) | None => None,
    }
    .unwrap_or_else(|| Applied::new(base));
    for entry in database.entries_after(applied.index()) {
        let entry = entry.map_err(schema::open_error)?;
        let marked = committed.is_some_and(|committed| entry.log_id.index <= committed.index);
        let saved = snapshot.is_some_and(|head| applied.head().seq < head.seq);
        if !marked && !saved {
            break;
        }
        applied.apply(&entry)?;
    }
    match snapshot {
        Some(head) if head.seq > applied.head().seq => Err(lost(applied.head(), head.seq).into()),
        _ => Ok(applied),
    }
}

/// What is committed up to the record that the snapshot ends with; none if the log has no such record, which
/// whoever reads all of it can explain.
fn from_snapshot(
    database: &Database,
    base: &Mark,
    head: Head,
) -> Result<Option<Applied>, OpenError> {
    let found = || -> Result<Option<Applied>, schema::StoreError> {
        let Some(index) = database.holder_of(head.seq)? else { return Ok(None) };
        let Some(entry) = database.entry_at(index)? else { return Ok(None) };
        match &entry.payload {
            EntryPayload::Normal(proposal) if proposal.head == head => {}
            EntryPayload::Normal(_) | EntryPayload::Blank | EntryPayload::Membership(_) => {
                return Ok(None);
            }
        }
        let since = base.last.map(|base| base.index);
        let others = database.others_between(since, index)?;
        Ok(Some(Applied::up_to(base.clone(), &others, entry.log_id, head)))
    };
    found().map_err(schema::open_error)
}

fn lost(end: Head, acknowledged: Seq) -> Damage {
    Damage { at: end.seq.next(), flaw: Flaw::Lost { acknowledged } }
}

fn open_tail(database: &Database, id: MemberId, applied: &Applied) -> Result<Tail, OpenError> {
    let purged = applied.base().last;
    // What is forgotten may still lie there.
    let behind = purged.map(|purged| purged.index);
    let last = database.last(behind).map_err(schema::open_error)?.or(purged);
    let vote = database.vote().map_err(schema::open_error)?.map(|mut vote| {
        // A reign does not outlive its process: to lead again, the member stands again.
        if vote.leader_id().node_id == u64::from(id.0) {
            vote.committed = false;
        }
        vote
    });
    let committed = applied.last();
    Ok(Tail::new(purged, last, vote, committed))
}

/// For openraft, which wants to know what failed.
fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}
