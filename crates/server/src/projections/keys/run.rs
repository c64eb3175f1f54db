//! A file of idempotency keys and ids that have left the core's memory, or soon may. It is written once,
//! sorted by hash, and dropped as a whole when the last of its keys has had its time, or when it has
//! become part of a larger one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bellwether_core::model::{JobNo, Timestamp};

use super::KeysError;
use super::ages::Ages;
use super::entry::{ENTRY_BYTES, Entry, Start};
use super::filter::{self, BLOCK_BYTES, Block};
use super::layout::{BLOCKS_PER_PAGE, ENTRIES_PER_PAGE, FENCES_PER_PAGE, Head, Layout};
use super::pages::{self, PAYLOAD_BYTES, Page};

/// Of a run of so many keys filter and fences are in memory: up to 9 MB of each, and there are seven of a
/// size. Of a larger one they are read when somebody looks.
const RESIDENT_KEYS_MAX: u64 = 4 << 20;

/// What is known of a key, or of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) job: JobNo,
    pub(super) print: u16,
    /// When it was taken, or a little later.
    pub(super) at: Timestamp,
}

#[derive(Debug)]
pub(super) struct Run {
    path: PathBuf,
    file: File,
    /// All keys of jobs behind `after` up to `last` are in it, but for those that had their time.
    pub(super) after: JobNo,
    pub(super) last: JobNo,
    pub(super) keys: u64,
    pub(super) ages: Ages,
    layout: Layout,
    resident: Option<Resident>,
}

#[derive(Debug)]
struct Resident {
    filter: Vec<Block>,
    /// Where each page of entries begins.
    fences: Vec<u64>,
}

impl Run {
    pub(super) fn open(path: PathBuf) -> Result<Run, KeysError> {
        let file = File::open(&path)?;
        let head = pages::read(&file, 0)?.and_then(|page| Head::read(&page));
        let Some(Head { keys, after, last, layout, ages }) = head else {
            return Err(KeysError::Damaged { path });
        };
        let mut run = Run { path, file, after, last, keys, ages, layout, resident: None };
        if keys <= RESIDENT_KEYS_MAX {
            run.resident = Some(run.load()?);
        }
        Ok(run)
    }

    pub(super) fn newest(&self) -> Timestamp {
        self.ages.newest()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn load(&self) -> Result<Resident, KeysError> {
        let filter = (0..self.layout.filter_blocks).step_by(BLOCKS_PER_PAGE as usize);
        let mut blocks = Vec::new();
        for first in filter {
            let page = self.page(self.layout.filter_page(first))?;
            let (inside, _) = page[..PAYLOAD_BYTES].as_chunks::<BLOCK_BYTES>();
            blocks.extend(inside.iter().map(Block::read));
        }
        blocks.truncate(self.layout.filter_blocks as usize);
        let count = self.entry_pages();
        let mut fences = Vec::new();
        for first in (0..count).step_by(FENCES_PER_PAGE as usize) {
            let page = self.page(self.layout.fence_page(first))?;
            let (inside, _) = page[..PAYLOAD_BYTES].as_chunks::<8>();
            fences.extend(inside.iter().map(|fence| u64::from_be_bytes(*fence)));
        }
        fences.truncate(count as usize);
        Ok(Resident { filter: blocks, fences })
    }

    fn entry_pages(&self) -> u64 {
        self.keys.div_ceil(ENTRIES_PER_PAGE)
    }

    pub(super) fn find(&self, start: Start) -> Result<Option<Known>, KeysError> {
        if !self.block(filter::place(start, self.layout.filter_blocks))?.may_have(start) {
            return Ok(None);
        }
        // Equal beginnings may lie in the page before the first that has this one at its start.
        let wanted = start.high();
        let last = self.first_page(|fence| fence > wanted)?;
        let first = self.first_page(|fence| fence >= wanted)?.saturating_sub(1);
        let mut found = None;
        for page in first..last {
            let entries = self.entries_of(page)?;
            // The last of equal ones is that of the latest job.
            found = entries.into_iter().rfind(|entry| entry.start() == start).or(found);
        }
        Ok(found.map(|entry| {
            let job = entry.job(self.after);
            Known { job, print: entry.print(), at: self.ages.of_job(job) }
        }))
    }

    fn block(&self, number: u64) -> Result<Block, KeysError> {
        if let Some(resident) = &self.resident {
            return Ok(resident.filter[number as usize]);
        }
        let page = self.page(self.layout.filter_page(number))?;
        let (blocks, _) = page.as_chunks::<BLOCK_BYTES>();
        Ok(Block::read(&blocks[(number % BLOCKS_PER_PAGE) as usize]))
    }

    /// Of the pages of entries, the first whose fence is so.
    fn first_page(&self, is_so: impl Fn(u64) -> bool) -> Result<u64, KeysError> {
        if let Some(resident) = &self.resident {
            return Ok(resident.fences.partition_point(|fence| !is_so(*fence)) as u64);
        }
        let (mut low, mut high) = (0, self.entry_pages());
        while low < high {
            let middle = low + (high - low) / 2;
            let page = self.page(self.layout.fence_page(middle))?;
            let (fences, _) = page.as_chunks::<8>();
            let fence = u64::from_be_bytes(fences[(middle % FENCES_PER_PAGE) as usize]);
            if is_so(fence) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    /// In their order.
    pub(super) fn entries_of(&self, page: u64) -> Result<Vec<Entry>, KeysError> {
        let bytes = self.page(self.layout.entries_at + page)?;
        let count = (self.keys - page * ENTRIES_PER_PAGE).min(ENTRIES_PER_PAGE);
        let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
        Ok(entries[..count as usize].iter().copied().map(Entry).collect())
    }

    /// All of them, in their order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Result<Entry, KeysError>> {
        (0..self.entry_pages()).flat_map(|page| match self.entries_of(page) {
            Ok(entries) => entries.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        })
    }

    fn page(&self, number: u64) -> Result<Page, KeysError> {
        let page = pages::read(&self.file, number)?;
        page.ok_or_else(|| KeysError::Damaged { path: self.path.clone() })
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

pub(super) fn file_name(last: JobNo) -> String {
    format!("keys-{:020}.run", last.0)
}

pub(super) fn is_run(name: &str) -> bool {
    name.starts_with("keys-") && name.ends_with(".run")
}
