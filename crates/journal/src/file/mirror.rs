//! A copy on this machine of a journal that is kept elsewhere, in the same files.
//!
//! Nothing waits for the disk here, because what is lost can be fetched again. So on opening the
//! copy is cut before the first thing that is not sound, wherever that is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Seq;

use super::reader::{End, FileReader, open_segment};
use super::segment::{self, Found, Frames};
use super::{FileOptions, Segment, files};
use crate::chain::Head;
use crate::disk::lock::DirectoryLock;
use crate::disk::snapshots::SnapshotFiles;
use crate::disk::sync_directory;
use crate::disk::witness::{self, Witness};
use crate::journal::{AppendError, Damage, Flaw, OpenError, ReadError, Reader, TruncateError};
use crate::shared::RawRecord;
use crate::snapshot::{Snapshot, SnapshotError, Snapshots};

#[derive(Debug)]
pub struct Mirror {
    head: Head,
    frame: Vec<u8>,
    segment: Segment,
    witness: Witness,
    written: Arc<AtomicU64>,
    dir: PathBuf,
    options: FileOptions,
    lock: DirectoryLock,
}

impl Mirror {
    /// Opens the copy in the directory, or begins one; it ends where it stops being sound. Where a
    /// snapshot is of a later position, the copy begins there.
    pub fn open(dir: &Path, options: FileOptions) -> Result<Mirror, OpenError> {
        fs::create_dir_all(dir)?;
        let lock = DirectoryLock::take(dir)?;
        let snapshot = SnapshotFiles::new(dir).latest_head()?;
        let end = cut(dir, snapshot)?;
        let base = files::list(dir)?.first().copied().unwrap_or_default();
        let stands_for = snapshot.map_or(Seq(0), |snapshot| snapshot.seq);
        let (head, segment) = match end {
            // Records can be applied only from a state on that is here.
            Some(end) if base <= stands_for && stands_for <= end.head.seq => {
                (end.head, Segment::reopen(dir, &end, options)?)
            }
            _ => begin(dir, snapshot.unwrap_or(Head::GENESIS), options)?,
        };
        forget_later_witness(dir, head)?;
        Ok(Mirror {
            head,
            frame: Vec::new(),
            segment,
            witness: Witness::open(dir)?,
            written: Arc::new(AtomicU64::new(head.seq.0)),
            dir: dir.to_owned(),
            options,
            lock,
        })
    }

    pub fn head(&self) -> Head {
        self.head
    }

    /// Adds a record that was verified to follow the head.
    pub fn append(&mut self, record: &RawRecord) -> Result<(), AppendError> {
        segment::frame(&mut self.frame, self.head.seq, record.chain, &record.bytes);
        self.segment.make_room(&self.dir, self.head, &self.frame, self.options)?;
        self.segment.write(&self.frame)?;
        self.lock.check()?;
        self.head = record.head();
        self.written.store(self.head.seq.0, Ordering::Release);
        self.witness.note(self.head);
        Ok(())
    }

    /// Begins again with this state, as if everything before it had been truncated.
    pub fn start_over(&mut self, snapshot: &Snapshot) -> Result<(), OpenError> {
        self.snapshots().save(snapshot)?;
        let (head, segment) = begin(&self.dir, snapshot.head, self.options)?;
        self.segment = segment;
        self.head = head;
        self.written.store(head.seq.0, Ordering::Release);
        self.witness.note(head);
        Ok(())
    }

    /// Forgets records whose entries all lie before `seq`; a snapshot here must stand for them.
    pub fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        let snapshots = SnapshotFiles::new(&self.dir);
        let latest = snapshots.positions().map_err(SnapshotError::Io)?.pop();
        if latest.is_none_or(|latest| latest.next() < seq) {
            return Err(TruncateError::NoSnapshot { before: seq });
        }
        files::remove_before(&self.dir, seq, self.segment.base)
            .map_err(|error| TruncateError::Write(AppendError::Write(error)))?;
        let first = files::list(&self.dir).map_err(SnapshotError::Io)?.into_iter().next();
        let base = first.unwrap_or(self.segment.base);
        Ok(snapshots.journal_begins(base).map_err(SnapshotError::Io)?)
    }

    /// For whoever reads what is here, on any thread.
    pub fn reader(&self) -> Box<dyn Reader> {
        Box::new(FileReader::new(&self.dir, Some(Arc::clone(&self.written))))
    }

    pub fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}

/// Removes what lies there and begins after this position.
fn begin(dir: &Path, head: Head, options: FileOptions) -> Result<(Head, Segment), OpenError> {
    remove_segments(dir, |_| true)?;
    Ok((head, Segment::create(dir, head, options.segment_bytes, 0)?))
}

/// Finds the end of what is sound, and removes the segments behind it. None if nothing is.
fn cut(dir: &Path, snapshot: Option<Head>) -> Result<Option<End>, OpenError> {
    let mut end: Option<End> = None;
    for base in files::list(dir)? {
        let frames = match open_segment(dir, base) {
            Ok(frames) if end.as_ref().is_none_or(|end| end.head == frames.prior()) => frames,
            Ok(_) | Err(ReadError::Damaged(_)) => break,
            Err(error) => return Err(error.into()),
        };
        let found = walk(frames, base, snapshot)?;
        let torn = found.torn;
        end = Some(found);
        if torn {
            break;
        }
    }
    let last = end.as_ref().map(|end| end.segment);
    remove_segments(dir, |base| last.is_none_or(|last| base > last))?;
    Ok(end)
}

fn walk(mut frames: Frames, base: Seq, snapshot: Option<Head>) -> Result<End, OpenError> {
    let torn = loop {
        let at = frames.prior();
        if snapshot.is_some_and(|snapshot| snapshot.seq == at.seq && snapshot.chain != at.chain) {
            return Err(Damage { at: at.seq, flaw: Flaw::Chain }.into());
        }
        match frames.next()? {
            Found::Frame(_) => {}
            Found::End => break frames.remains()?.is_some(),
            // Written whole, by a newer program: it must not be cut by this one.
            Found::Broken(damage) if matches!(damage.flaw, Flaw::Version { .. }) => {
                return Err(damage.into());
            }
            Found::Broken(_) => break true,
        }
    };
    Ok(End { head: frames.prior(), segment: base, offset: frames.offset(), torn })
}

/// From the last on, so that a crash leaves no gap.
fn remove_segments(dir: &Path, unwanted: impl Fn(Seq) -> bool) -> Result<(), OpenError> {
    for base in files::list(dir)?.into_iter().rev() {
        if unwanted(base) {
            fs::remove_file(files::path(dir, base))?;
            sync_directory(dir)?;
        }
    }
    Ok(())
}

/// It saw records that are cut now.
fn forget_later_witness(dir: &Path, head: Head) -> Result<(), OpenError> {
    if Witness::peek(dir)?.is_some_and(|seen| seen.seq > head.seq) {
        fs::remove_file(dir.join(witness::FILE))?;
    }
    Ok(())
}
