//! The journal in plain append-only files, of which every byte is ours.
//!
//! The data directory holds segments `journal-<position>.log`, each for the records after that
//! position. A segment's space is reserved when it is made: a disk that fills up is noticed there,
//! before anything is written, and an append within a segment is one write and one sync. Where
//! there is too little space for a whole segment, a smaller one will do.
//!
//! Small appends go to where zeros were written before. Syncing them changes nothing but data, so
//! they do not wait for the file system's own journal, in which others write, too.
//!
//! A broken frame at the very end, of which nothing was acknowledged, is torn and is cut. Any other
//! is damage.

mod files;
mod mirror;
mod reader;
mod segment;
mod window;

use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};

use crate::chain::Head;
use crate::copy::{Copied, TakesCopies, latest_epoch};
use crate::disk::epoch::EpochFile;
use crate::disk::lock::DirectoryLock;
use crate::disk::snapshots::SnapshotFiles;
use crate::disk::witness::{Testimony, Witness};
use crate::disk::{is_full, refuse_unless_empty};
use crate::journal::{
    AppendError, Journal, OpenError, ReadError, Reader, Records, TruncateError, check_position,
};
use crate::recorder::Recorder;
use crate::snapshot::{Snapshot, SnapshotError, Snapshots};
use reader::FileReader;
use segment::HEADER_BYTES;

pub use mirror::Mirror;

#[derive(Debug, Clone, Copy)]
pub struct FileOptions {
    /// Size of a segment, unless one record needs more.
    pub segment_bytes: u64,
}

impl Default for FileOptions {
    fn default() -> FileOptions {
        FileOptions { segment_bytes: 64 << 20 }
    }
}

#[derive(Debug)]
pub struct FileJournal {
    epoch: Epoch,
    epoch_file: EpochFile,
    recorder: Recorder,
    frame: Vec<u8>,
    segment: Segment,
    witness: Witness,
    reader: FileReader,
    /// The last durable position, for readers on other threads.
    durable: Arc<AtomicU64>,
    dir: PathBuf,
    options: FileOptions,
    lock: DirectoryLock,
}

/// The segment that is written.
#[derive(Debug)]
struct Segment {
    file: File,
    /// The position before its first entry.
    base: Seq,
    /// Where the next frame goes.
    end: u64,
    /// Up to here zeros were written, or frames.
    written: u64,
    reserved: u64,
}

/// Zeros that are written at once ahead of small frames.
const RUNWAY_BYTES: u64 = 1 << 20;
/// Frames from this size on are not worth a runway.
const LARGE_FRAME_BYTES: u64 = 64 << 10;
/// The smallest segment that is made when there is no space for a larger one.
const SEGMENT_BYTES_MIN: u64 = 256 << 10;

impl FileJournal {
    /// Does the directory hold such a journal?
    pub fn is_in(dir: &Path) -> bool {
        files::list(dir).is_ok_and(|segments| !segments.is_empty())
    }

    /// Opens the journal in the directory, or makes both; verifies all of it and takes a new epoch.
    pub fn open(dir: &Path, options: FileOptions) -> Result<FileJournal, OpenError> {
        Self::open_locked(dir, options).map_err(|error| match error {
            OpenError::Io(error) if is_full(&error) => OpenError::Full,
            error => error,
        })
    }

    fn open_locked(dir: &Path, options: FileOptions) -> Result<FileJournal, OpenError> {
        fs::create_dir_all(dir)?;
        let lock = DirectoryLock::take(dir)?;
        let mut witness = Witness::open(dir)?;
        let testimony = Testimony::hear(dir)?;
        let (head, segment) = match reader::verify(dir, &testimony)? {
            Some(end) => (end.head, Segment::reopen(dir, &end, options)?),
            None => {
                testimony.conclude(Head::GENESIS)?;
                (Head::GENESIS, Segment::create(dir, Head::GENESIS, options.segment_bytes, 0)?)
            }
        };
        let epoch_file = EpochFile::open(dir)?;
        let epoch = epoch_file.current()?.next();
        epoch_file.begin(epoch)?;
        witness.note(head);
        let durable = Arc::new(AtomicU64::new(head.seq.0));
        Ok(FileJournal {
            epoch,
            epoch_file,
            recorder: Recorder::new(head),
            frame: Vec::new(),
            segment,
            witness,
            reader: FileReader::new(dir, Some(Arc::clone(&durable))),
            durable,
            dir: dir.to_owned(),
            options,
            lock,
        })
    }

    /// Begins a journal in an empty directory with this state, as if everything before it had been
    /// truncated.
    pub fn begin_at(
        dir: &Path,
        snapshot: &Snapshot,
        options: FileOptions,
    ) -> Result<(), OpenError> {
        Self::begin_empty(dir, snapshot.head, options)?;
        SnapshotFiles::new(dir).save(snapshot)?;
        Ok(())
    }

    /// Begins a journal without records in an empty directory, as if everything before `base` had been
    /// truncated. Unless that is the very beginning it can be used once there is a snapshot.
    pub fn begin_empty(dir: &Path, base: Head, options: FileOptions) -> Result<(), OpenError> {
        fs::create_dir_all(dir)?;
        let _lock = DirectoryLock::take(dir)?;
        refuse_unless_empty(dir)?;
        files::create(dir, base, options.segment_bytes)?;
        Witness::open(dir)?.note(base);
        Ok(())
    }

    /// Looks at the journal in the directory without changing it. A record that a running scheduler
    /// is just writing may be seen or not.
    pub fn inspect(dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        let testimony = Testimony::hear(dir)?;
        if reader::verify(dir, &testimony)?.is_none() {
            testimony.conclude(Head::GENESIS)?;
        }
        Ok(Box::new(FileReader::new(dir, None)))
    }

    /// Like [`FileJournal::inspect`], without reading everything first: damage is met where it is.
    pub fn look(dir: &Path) -> Box<dyn Reader> {
        Box::new(FileReader::new(dir, None))
    }

    fn check_epoch(&self, epoch: Epoch) -> Result<(), AppendError> {
        // Another process can only have taken over where locks do not hold, but then it has.
        let current = self.epoch_file.current().map_err(AppendError::Write)?;
        if epoch == self.epoch && epoch == current {
            return Ok(());
        }
        Err(AppendError::Fenced { current })
    }
}

impl Journal for FileJournal {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn head(&self) -> Head {
        self.recorder.head()
    }

    fn append(
        &mut self,
        epoch: Epoch,
        expected: Seq,
        entries: &[Entry],
    ) -> Result<Head, AppendError> {
        self.check_epoch(epoch)?;
        check_position(self.head(), expected, entries)?;
        if entries.is_empty() {
            return Ok(self.head());
        }
        let prior = self.recorder.head();
        let draft = self.recorder.draft(epoch, entries);
        segment::frame(&mut self.frame, prior.seq, draft.head.chain, draft.bytes);
        let head = draft.head;
        self.segment.make_room(&self.dir, prior, &self.frame, self.options)?;
        self.segment.append(&self.frame)?;
        self.lock.check()?;
        self.recorder.accept(head);
        self.durable.store(head.seq.0, Ordering::Release);
        self.witness.note(head);
        Ok(head)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        Ok(Box::new(FileReader::new(&self.dir, Some(Arc::clone(&self.durable)))))
    }

    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        self.check_epoch(self.epoch)?;
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
}

impl TakesCopies for FileJournal {
    fn take_copies(&mut self, records: &[Copied]) -> Result<(), AppendError> {
        let Some(last) = records.last() else { return Ok(()) };
        let epoch = self.epoch.max(latest_epoch(records));
        if epoch > self.epoch {
            self.epoch_file.begin(epoch).map_err(AppendError::Write)?;
            self.epoch = epoch;
        }
        let (mut frames, mut frame) = (Vec::new(), Vec::new());
        for Copied { record, bytes } in records {
            let prior = Seq(record.first().0 - 1);
            segment::frame(&mut frame, prior, record.chain, bytes);
            frames.extend_from_slice(&frame);
        }
        self.segment.make_room(&self.dir, self.recorder.head(), &frames, self.options)?;
        self.segment.append(&frames)?;
        let head = last.record.head();
        self.recorder.accept(head);
        self.durable.store(head.seq.0, Ordering::Release);
        self.witness.note(head);
        Ok(())
    }
}

impl Reader for FileJournal {
    fn base(&self) -> Result<Head, ReadError> {
        self.reader.base()
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.reader.read(from)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}

impl Segment {
    /// As large as wished, or as there is space, but with room for a first frame.
    fn create(dir: &Path, base: Head, wish: u64, frame_bytes: u64) -> std::io::Result<Segment> {
        let header = HEADER_BYTES as u64;
        let least = SEGMENT_BYTES_MIN.min(wish).max(header + frame_bytes);
        let mut reserved = wish.max(least);
        loop {
            match files::create(dir, base, reserved) {
                Ok(file) => {
                    let (base, end) = (base.seq, header);
                    return Ok(Segment { file, base, end, written: end, reserved });
                }
                Err(error) if is_full(&error) && reserved > least => {
                    reserved = (reserved / 2).max(least);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the last segment to write on, and cuts what is torn.
    fn reopen(dir: &Path, end: &reader::End, options: FileOptions) -> std::io::Result<Segment> {
        let file = File::options().read(true).write(true).open(files::path(dir, end.segment))?;
        if end.torn {
            file.set_len(end.offset)?;
        }
        let mut reserved = options.segment_bytes.max(end.offset);
        let length = file.metadata()?.len();
        if length != reserved {
            match files::reserve(&file, reserved) {
                // It was made when there was less space, or is full by now.
                Err(error) if is_full(&error) => {
                    reserved = length.max(end.offset);
                    file.set_len(reserved)?;
                }
                done => done?,
            }
        }
        file.sync_all()?;
        Ok(Segment { file, base: end.segment, end: end.offset, written: end.offset, reserved })
    }

    /// Goes on in a new segment, after `head`, if there is too little room for the frame in this one.
    fn make_room(
        &mut self,
        dir: &Path,
        head: Head,
        frame: &[u8],
        options: FileOptions,
    ) -> Result<(), AppendError> {
        let frame_bytes = frame.len() as u64;
        if self.end + frame_bytes <= self.reserved {
            return Ok(());
        }
        let next =
            Segment::create(dir, head, options.segment_bytes, frame_bytes).map_err(|error| {
                if is_full(&error) { AppendError::Full } else { AppendError::Write(error) }
            })?;
        let full = std::mem::replace(self, next);
        // Gives the unused end of the space back; the frames are written already.
        full.file.set_len(full.end).map_err(AppendError::Write)
    }

    /// Durable when it returns.
    fn append(&mut self, frame: &[u8]) -> Result<(), AppendError> {
        self.write(frame)?;
        self.prepare(frame.len() as u64)?;
        self.file.sync_data().map_err(AppendError::Sync)
    }

    fn write(&mut self, frame: &[u8]) -> Result<(), AppendError> {
        if let Err(error) = self.file.write_all_at(frame, self.end) {
            if !is_full(&error) {
                return Err(AppendError::Write(error));
            }
            // Only where space can't be reserved. Nothing of the frame may stay behind.
            self.file.set_len(self.end).map_err(AppendError::Write)?;
            return Err(AppendError::Full);
        }
        self.end += frame.len() as u64;
        Ok(())
    }

    /// Writes zeros ahead if the next frame, expected to be like the last, needs them. Within the
    /// reserved space that can't fail for want of it.
    fn prepare(&mut self, frame_bytes: u64) -> Result<(), AppendError> {
        self.written = self.written.max(self.end);
        let target = (self.end + RUNWAY_BYTES).min(self.reserved);
        if frame_bytes >= LARGE_FRAME_BYTES || self.written >= self.end + LARGE_FRAME_BYTES {
            return Ok(());
        }
        let zeros = vec![0; target.saturating_sub(self.written) as usize];
        match self.file.write_all_at(&zeros, self.written) {
            Ok(()) => self.written = target.max(self.written),
            // Only where space can't be reserved; frames find out by themselves.
            Err(error) if is_full(&error) => {}
            Err(error) => return Err(AppendError::Write(error)),
        }
        Ok(())
    }
}
