//! What every journal promises.

use std::io;
use std::path::PathBuf;

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;

use crate::chain::Head;
use crate::codec::decode::Record;
use crate::lease::Lease;
use crate::snapshot::{Snapshot, SnapshotError, Snapshots};

/// Opened by one scheduler, for one reign: opening takes a new epoch, and from then on appends of
/// earlier ones fail.
pub trait Journal: Reader {
    /// The reign that was taken on opening.
    fn epoch(&self) -> Epoch;

    /// Until when no other scheduler can have taken over. Nothing that rests on memory alone is told
    /// once it has run out.
    fn lease(&self) -> Lease {
        Lease::forever()
    }

    /// After the last durable entry.
    fn head(&self) -> Head;

    /// Appends the entries as one record, durable when it returns. `expected` is the position of
    /// the last entry that the caller knows; the entries follow it without a gap.
    ///
    /// After an error nothing was appended, unless [`AppendError::is_fatal`] says that this is not
    /// known; then the process must end and recover.
    fn append(
        &mut self,
        epoch: Epoch,
        expected: Seq,
        entries: &[Entry],
    ) -> Result<Head, AppendError>;

    /// For another thread, to read while this one appends.
    fn reader(&self) -> Result<Box<dyn Reader>, ReadError>;

    /// Forgets records whose entries all lie before `seq`. A snapshot must be there to stand for
    /// them.
    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError>;

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.snapshots().save(snapshot)
    }
}

/// What is durable, for those who only look.
pub trait Reader: Send {
    /// Before the first entry that is kept; what lies before it was truncated.
    fn base(&self) -> Result<Head, ReadError>;

    /// Verified records from the one that holds `from` on; entries before `from` are left out. It
    /// ends where the journal ended when it was called, or later.
    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError>;

    /// What lies where the record at this position should be, sound or not; none if nothing that
    /// looks like a record does.
    fn bytes_at(&self, _at: Seq) -> Result<Option<Bytes>, ReadError> {
        Ok(None)
    }

    /// Where snapshots are kept; it may be used from another thread.
    fn snapshots(&self) -> Box<dyn Snapshots>;

    /// The latest.
    fn load_snapshot(&self) -> Result<Option<Snapshot>, SnapshotError> {
        self.snapshots().load()
    }
}

pub type Records<'a> = Box<dyn Iterator<Item = Result<Record, ReadError>> + 'a>;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the data directory {} is in use by process {holder}; stop it first, or choose another \
         with --data-dir",
        directory.display()
    )]
    Locked { directory: PathBuf, holder: String },
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error("the disk is full; free some space and start again")]
    Full,
    #[error("the journal could not be opened: {0}")]
    Io(#[from] io::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("another scheduler has taken over the journal (epoch {current}); this one must stop")]
    Fenced { current: Epoch },
    #[error("the journal ends at position {head}, not at {expected}; rebuild the state from it")]
    WrongPosition { expected: Seq, head: Seq },
    #[error("the disk is full; nothing was written, and work is taken again once there is space")]
    Full,
    #[error("a sync failed, so it is not known what is durable; the process must end: {0}")]
    Sync(#[source] io::Error),
    #[error("the journal could not be written; the process must end: {0}")]
    Write(#[source] io::Error),
    #[error(
        "the data directory {} was removed or replaced while the scheduler ran, so nothing more can \
         be kept and the process must end; put it back and start again, or start without what it held",
        directory.display()
    )]
    Gone { directory: PathBuf },
    #[error(
        "this scheduler's reign is over, and it is not known whether the entries were kept; the one that \
         leads now knows"
    )]
    Deposed,
}

impl AppendError {
    /// It is not known whether the entries are durable: only a restart can tell.
    pub fn is_fatal(&self) -> bool {
        match self {
            AppendError::Sync(_) | AppendError::Write(_) | AppendError::Gone { .. } => true,
            // The cluster knows; this process need not end to find out.
            AppendError::Deposed => false,
            AppendError::Fenced { .. } | AppendError::WrongPosition { .. } | AppendError::Full => {
                false
            }
        }
    }
}

/// The journal is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the journal is damaged at position {at}: {flaw}; nothing was changed. Restore the data \
     directory from a backup, or keep a copy of it and restore the latest snapshot"
)]
pub struct Damage {
    /// Everything before this position is sound.
    pub at: Seq,
    pub flaw: Flaw,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("the record does not match its hash")]
    Chain,
    #[error("the next record starts at position {found}")]
    Gap { found: Seq },
    #[error("the record has format version {found}, which this program does not know")]
    Version { found: u64 },
    #[error("the record can't be read: {why}")]
    Unreadable { why: String },
    #[error(
        "records up to position {acknowledged} were acknowledged and are missing (if an older copy \
         was put back on purpose, remove the file `head` beside it)"
    )]
    Lost { acknowledged: Seq },
    #[error("the storage is corrupt: {why}")]
    Storage { why: String },
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error("positions before {first} were truncated; read the snapshot instead")]
    Truncated { first: Seq },
    #[error("the journal could not be read: {0}")]
    Io(#[source] io::Error),
}

impl From<SnapshotError> for OpenError {
    fn from(error: SnapshotError) -> OpenError {
        match error {
            SnapshotError::Full => OpenError::Full,
            SnapshotError::Io(error) => OpenError::Io(error),
            error @ (SnapshotError::Damaged { .. }
            | SnapshotError::Format { .. }
            | SnapshotError::Unreadable { .. }) => OpenError::Io(io::Error::other(error)),
        }
    }
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> OpenError {
        match error {
            ReadError::Damaged(damage) => OpenError::Damaged(damage),
            ReadError::Io(error) => OpenError::Io(error),
            ReadError::Truncated { first } => OpenError::Io(io::Error::other(format!(
                "positions before {first} were truncated while they were read"
            ))),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TruncateError {
    #[error("no snapshot stands for the entries before {before}; save one first")]
    NoSnapshot { before: Seq },
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Write(#[from] AppendError),
}

/// The checks that every backend makes before it appends.
pub fn check_position(head: Head, expected: Seq, entries: &[Entry]) -> Result<(), AppendError> {
    let starts_after = entries.first().map_or(expected, |entry| Seq(entry.seq.0 - 1));
    if head.seq != expected || starts_after != expected {
        return Err(AppendError::WrongPosition { expected: starts_after, head: head.seq });
    }
    Ok(())
}

/// Entries before this were asked for but not these.
pub(crate) fn trim(mut record: Record, from: Seq) -> Record {
    record.entries.retain(|entry| entry.seq >= from);
    record
}
