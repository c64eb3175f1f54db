//! Records out of the segments, verified one by one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
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
            match frames.next()? {
                Found::Frame(frame) => testimony.compare(frame.head)?,
                Found::End => break frames.remains()?,
                Found::Broken(damage) => break Some(damage),
            }
        };
        let head = frames.prior();
        if let Some(damage) = &broken {
            let last = index + 1 == bases.len();
            if !last || !frames.may_be_torn(damage)? {
                return Err(damage.clone().into());
            }
        }
        let (offset, torn) = (frames.offset(), broken.is_some());
        end = Some(End { head, segment: base, offset, torn });
    }
    if let Some(end) = &end {
        testimony.conclude(end.head)?;
    }
    Ok(end)
}

pub(super) fn open_segment(dir: &Path, base: Seq) -> Result<Frames, ReadError> {
    let file = File::open(files::path(dir, base)).map_err(ReadError::Io)?;
    Frames::open(file, base)
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

/// Places that a reader remembers.
const PLACES_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) struct FileReader {
    dir: PathBuf,
    /// The last durable position, while somebody appends.
    durable: Option<Arc<AtomicU64>>,
    /// Where frames start that were read, by the position before them: whoever follows the journal
    /// goes on where it was.
    places: RefCell<BTreeMap<Seq, Place>>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    segment: Seq,
    offset: u64,
    prior: Head,
}

impl FileReader {
    pub(super) fn new(dir: &Path, durable: Option<Arc<AtomicU64>>) -> FileReader {
        FileReader { dir: dir.to_owned(), durable, places: RefCell::default() }
    }

    /// The latest place before `from` that is known, in this segment or a later one.
    fn place_before(&self, from: Seq, segment: Seq) -> Option<Place> {
        let places = self.places.borrow();
        let (_, place) = places.range(..from).next_back()?;
        (place.segment >= segment).then_some(*place)
    }

    fn remember(&self, place: Place) {
        let mut places = self.places.borrow_mut();
        places.insert(place.prior.seq, place);
        if places.len() > PLACES_MAX {
            places.pop_first();
        }
    }
}

/// Goes through the segments.
#[derive(Debug)]
struct Walk<'a> {
    reader: &'a FileReader,
    segments: std::vec::IntoIter<Seq>,
    frames: Option<Frames>,
    /// The segment that the frames are of.
    segment: Seq,
    /// Records that end before it are passed over.
    from: Seq,
    durable: Option<Seq>,
}

impl Walk<'_> {
    /// Opens the segment that holds `from`, at the nearest place that is known.
    fn start(&mut self) -> Result<(), ReadError> {
        let Some(segment) = self.segments.next() else { return Ok(()) };
        let mut frames = open_segment(&self.reader.dir, segment)?;
        if let Some(place) = self.reader.place_before(self.from, segment) {
            debug_assert_eq!(place.segment, segment, "the latest segment before it holds it");
            frames.seek(place.offset, place.prior);
        }
        self.segment = segment;
        self.frames = Some(frames);
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            let Some(frames) = &mut self.frames else { return Ok(None) };
            let (offset, prior) = (frames.offset(), frames.prior());
            if self.durable.is_some_and(|durable| prior.seq >= durable) {
                return Ok(None);
            }
            match frames.next()? {
                Found::Frame(frame) if frame.head.seq < self.from => {}
                Found::Frame(frame) => {
                    self.reader.remember(Place { segment: self.segment, offset, prior });
                    return Ok(Some(frame.decode()?));
                }
                Found::End => self.next_segment()?,
                Found::Broken(damage) => return self.broken(damage),
            }
        }
    }

    fn next_segment(&mut self) -> Result<(), ReadError> {
        let end = self.frames.take().map(|frames| frames.prior());
        if let (Some(end), Some(segment)) = (end, self.segments.next()) {
            let next = open_segment(&self.reader.dir, segment)?;
            check_joint(end, next.prior())?;
            self.segment = segment;
            self.frames = Some(next);
        }
        Ok(())
    }

    /// What is torn at the end was found harmless on opening; whoever reads stops there.
    fn broken(&mut self, damage: Damage) -> Result<Option<Record>, ReadError> {
        let torn = match &self.frames {
            Some(frames) if self.durable.is_none() && self.segments.len() == 0 => {
                frames.may_be_torn(&damage)?
            }
            _ => false,
        };
        if torn { Ok(None) } else { Err(damage.into()) }
    }
}

impl Iterator for Walk<'_> {
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
        let bases = files::list(&self.dir).map_err(ReadError::Io)?;
        let first = bases.first().copied().unwrap_or_default();
        if from <= first {
            return Err(ReadError::Truncated { first: first.next() });
        }
        let holder = bases.iter().rposition(|base| *base < from).unwrap_or_default();
        let durable = self.durable.as_ref().map(|durable| Seq(durable.load(Ordering::Acquire)));
        let segments = bases.into_iter().skip(holder).collect::<Vec<_>>().into_iter();
        let mut walk =
            Walk { reader: self, segments, frames: None, segment: Seq(0), from, durable };
        walk.start()?;
        Ok(Box::new(walk.map(move |record| Ok(trim(record?, from)))))
    }

    fn bytes_at(&self, at: Seq) -> Result<Option<Bytes>, ReadError> {
        let bases = files::list(&self.dir).map_err(ReadError::Io)?;
        let Some(&base) = bases.iter().rev().find(|base| **base < at) else { return Ok(None) };
        let mut frames = open_segment(&self.dir, base)?;
        if let Some(place) = self.place_before(at, base).filter(|place| place.segment == base) {
            frames.seek(place.offset, place.prior);
        }
        while frames.prior().seq.next() < at {
            if !matches!(frames.next()?, Found::Frame(_)) {
                return Ok(None);
            }
        }
        frames.unverified()
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}
