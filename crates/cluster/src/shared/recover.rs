//! Gives a shared log back what it has lost, from the copy of a scheduler that applied it.

use std::path::Path;
use std::time::Duration;

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::file::{FileOptions, Mirror};
use bellwether_journal::shared::{Candidate, RawRecord, SharedError, SharedLog};
use bellwether_journal::{
    AppendError, Head, OpenError, ReadError, Reader, Record, Recorder, SnapshotError,
};
use bytes::Bytes;

use super::{Connect, StartError, enrolled, last_epoch};

/// Nobody else leads meanwhile; a copy that takes longer renews it with every record.
const LEASE: Duration = Duration::from_secs(30);

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// Where the log ended before, and where it ends now.
    pub from: Seq,
    pub to: Seq,
}

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Log(#[from] SharedError),
    #[error("another scheduler leads; stop all schedulers first")]
    Led,
    #[error(
        "the shared journal has gone on without what was lost: it ends at position {head}, which the copy \
         here does not know. Begin a new one with another prefix, from the copy that is to count"
    )]
    Parted { head: Seq },
    #[error("no snapshot here stands for what the shared journal lacks before position {before}")]
    NoSnapshot { before: Seq },
    #[error("the copy on this machine: {0}")]
    Copy(String),
    #[error("the shared journal did not take a record: {0}")]
    Append(#[from] AppendError),
}

/// Appends again what lies in the copy in this directory and is missing in the log. No scheduler may
/// run on the directory, and none may lead.
pub fn recover(dir: &Path, connect: &Connect) -> Result<Recovered, RecoverError> {
    let mirror = Mirror::open(dir, FileOptions::default()).map_err(StartError::from)?;
    let mut log = connect()?;
    let member = enrolled(dir, log.as_mut())?;
    let sight = log.look()?;
    if sight.head.seq >= mirror.head().seq {
        return match sight.head == mirror.head() || continues(log.as_mut(), mirror.head())? {
            true => Ok(Recovered { from: sight.head.seq, to: sight.head.seq }),
            false => Err(RecoverError::Parted { head: sight.head.seq }),
        };
    }
    let reader = mirror.reader();
    if !has(reader.as_ref(), sight.head)? && sight.head != Head::GENESIS {
        return Err(RecoverError::Parted { head: sight.head.seq });
    }
    let me = Candidate { member, grpc: String::new(), http: String::new() };
    let after = last_epoch(&mirror)?;
    let Some((epoch, head)) = log.accede(&me, after, LEASE)? else { return Err(RecoverError::Led) };
    let appended = append_again(log.as_mut(), epoch, head, &mirror);
    log.resign(epoch)?;
    appended.map(|to| Recovered { from: sight.head.seq, to })
}

/// Whether the log goes on from this position.
fn continues(log: &mut dyn SharedLog, from: Head) -> Result<bool, RecoverError> {
    let next = log.read(from.seq, 1)?;
    Ok(next.first().is_some_and(|record| record.decode(from).is_ok()))
}

/// Whether a record of the copy ends here, or the copy begins here.
fn has(reader: &dyn Reader, head: Head) -> Result<bool, RecoverError> {
    let base = reader.base()?;
    if head.seq <= base.seq {
        return Ok(head == base);
    }
    match reader.read(head.seq)?.next() {
        Some(record) => Ok(record?.head() == head),
        None => Ok(false),
    }
}

fn append_again(
    log: &mut dyn SharedLog,
    epoch: Epoch,
    head: Head,
    mirror: &Mirror,
) -> Result<Seq, RecoverError> {
    let reader = mirror.reader();
    let mut head = head;
    let base = reader.base()?;
    if head.seq < base.seq {
        // All of it is gone: it begins again with a state.
        let snapshot = mirror.snapshots().load()?;
        let snapshot = snapshot.ok_or(RecoverError::NoSnapshot { before: base.seq.next() })?;
        log.begin_at(epoch, &snapshot)?;
        head = snapshot.head;
    }
    for record in reader.read(head.seq.next())? {
        let raw = as_written(reader.as_ref(), head, &record?)?;
        log.append(epoch, head, &raw, LEASE)?;
        head = raw.head();
    }
    Ok(head.seq)
}

/// The bytes of a record. What this version writes is made again from its entries, which is faster than
/// to look for it.
fn as_written(
    reader: &dyn Reader,
    prior: Head,
    record: &Record,
) -> Result<RawRecord, RecoverError> {
    let mut recorder = Recorder::new(prior);
    let draft = recorder.draft(record.epoch, &record.entries);
    let head = record.head();
    let bytes = match draft.head == head {
        true => Bytes::copy_from_slice(draft.bytes),
        false => reader
            .bytes_at(record.first())?
            .ok_or_else(|| RecoverError::Copy("a record is gone".to_owned()))?,
    };
    Ok(RawRecord { last: head.seq, chain: head.chain, bytes })
}

impl From<ReadError> for RecoverError {
    fn from(error: ReadError) -> RecoverError {
        RecoverError::Copy(error.to_string())
    }
}

impl From<OpenError> for RecoverError {
    fn from(error: OpenError) -> RecoverError {
        RecoverError::Copy(error.to_string())
    }
}

impl From<SnapshotError> for RecoverError {
    fn from(error: SnapshotError) -> RecoverError {
        RecoverError::Copy(error.to_string())
    }
}
