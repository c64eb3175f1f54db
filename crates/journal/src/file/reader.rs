//! Records out of the segments, verified one by one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Seq;
use bytes::Bytes;

use super::files;
use super::segment::{Found, Frames};
use crate::chain::{Chain, Head};
use crate::codec::decode::Record;
use crate::disk::snapshots::SnapshotFiles;
use crate::disk::witness::Testimony;
use crate::journal::{Damage, Flaw, OpenError, ReadError, Reader, Records, trim};
use crate::snapshot::Snapshots;

/// Where a verified journal ends.
#[derive(Debug)]
pub(super) struct End {
    pub(super) head: Head,
    /// The position before the last segment, and where in it the frames end.
    pub(super) segment: Seq,
    pub(super) offset: u64,
    /// What follows there was never acknowledged.
    pub(super) torn: bool,
}

/// Reads everything once. None if there is no segment.
pub(super) fn verify(dir: &Path, testimony: &Testimony) -> Result<Option<End>, OpenError> {
    let bases = files::list(dir)?;
    let mut end: Option<End> = None;
    for (index, &base) in bases.iter().enumerate() {
        let mut frames = open_segment(dir, base)?;
        match &end {
            Some(end) => check_joint(end.head, frames.prior())?,
            None => testimony.compare(frames.prior())?,
        }
        let broken = loop {
            match frames.next() {
                Found::Frame(frame) => testimony.compare(frame.head)?,
                Found::End => break None,
                Found::Broken(damage) => break Some(damage),
            }
        };
        let head = frames.prior();
        if let Some(damage) = &broken {
            let last = index + 1 == bases.len();
            if !last || !frames.may_be_torn(damage) {
                return Err(damage.clone().into());
            }
        }
        let (offset, torn) = (frames.offset() as u64, broken.is_some());
        end = Some(End { head, segment: base, offset, torn });
    }
    if let Some(end) = &end {
        testimony.conclude(end.head)?;
    }
    Ok(end)
}

fn open_segment(dir: &Path, base: Seq) -> Result<Frames, ReadError> {
    let bytes = fs::read(files::path(dir, base)).map_err(ReadError::Io)?;
    Ok(Frames::open(Bytes::from(bytes), base)?)
}

/// A segment must start where the one before ended.
fn check_joint(end: Head, start: Head) -> Result<(), Damage> {
    let at = end.seq.next();
    if start.seq != end.seq {
        return Err(Damage { at, flaw: Flaw::Gap { found: start.seq.next() } });
    }
    if start.chain != end.chain {
        return Err(Damage { at, flaw: Flaw::Chain });
    }
    Ok(())
}

#[derive(Debug)]
pub(super) struct FileReader {
    dir: PathBuf,
    /// The last durable position, while somebody appends.
    durable: Option<Arc<AtomicU64>>,
}

impl FileReader {
    pub(super) fn new(dir: &Path, durable: Option<Arc<AtomicU64>>) -> FileReader {
        FileReader { dir: dir.to_owned(), durable }
    }

    pub(super) fn into_records(self, from: Seq) -> Result<Records<'static>, ReadError> {
        let bases = files::list(&self.dir).map_err(ReadError::Io)?;
        let first = bases.first().copied().unwrap_or_default();
        if from <= first {
            return Err(ReadError::Truncated { first: first.next() });
        }
        let holder = bases.iter().rposition(|base| *base < from).unwrap_or_default();
        let durable = self.durable.map(|durable| Seq(durable.load(Ordering::Acquire)));
        let walk = Walk {
            dir: self.dir,
            segments: bases.into_iter().skip(holder).collect::<Vec<_>>().into_iter(),
            frames: None,
            from,
            durable,
        };
        Ok(Box::new(walk.map(move |record| Ok(trim(record?, from)))))
    }
}

/// Goes through the segments.
#[derive(Debug)]
struct Walk {
    dir: PathBuf,
    segments: std::vec::IntoIter<Seq>,
    frames: Option<Frames>,
    /// Records that end before it are passed over.
    from: Seq,
    durable: Option<Seq>,
}

impl Walk {
    fn step(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            let Some(frames) = &mut self.frames else {
                let Some(base) = self.segments.next() else { return Ok(None) };
                self.frames = Some(open_segment(&self.dir, base)?);
                continue;
            };
            if self.durable.is_some_and(|durable| frames.prior().seq >= durable) {
                return Ok(None);
            }
            match frames.next() {
                Found::Frame(frame) if frame.head.seq < self.from => {}
                Found::Frame(frame) => return Ok(Some(frame.decode()?)),
                Found::End => self.next_segment()?,
                Found::Broken(damage) => return self.broken(damage),
            }
        }
    }

    fn next_segment(&mut self) -> Result<(), ReadError> {
        let end = self.frames.take().map(|frames| frames.prior());
        if let (Some(end), Some(base)) = (end, self.segments.next()) {
            let next = open_segment(&self.dir, base)?;
            check_joint(end, next.prior())?;
            self.frames = Some(next);
        }
        Ok(())
    }

    /// What is torn at the end was found harmless on opening; whoever reads stops there.
    fn broken(&mut self, damage: Damage) -> Result<Option<Record>, ReadError> {
        let torn = self.durable.is_none()
            && self.segments.len() == 0
            && self.frames.as_ref().is_some_and(|frames| frames.may_be_torn(&damage));
        if torn { Ok(None) } else { Err(damage.into()) }
    }
}

impl Iterator for Walk {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if !matches!(step, Some(Ok(_))) {
            // After the end, or after damage, there is nothing more to say.
            self.segments = Vec::new().into_iter();
            self.frames = None;
        }
        step
    }
}

impl Reader for FileReader {
    fn base(&self) -> Result<Head, ReadError> {
        let bases = files::list(&self.dir).map_err(ReadError::Io)?;
        match bases.first() {
            Some(&base) => Ok(open_segment(&self.dir, base)?.prior()),
            None => Ok(Head { seq: Seq(0), chain: Chain::GENESIS }),
        }
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        FileReader::new(&self.dir, self.durable.clone()).into_records(from)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}
