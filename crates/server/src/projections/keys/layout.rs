//! Where things are in a file of keys: a head, then the filter, the fences and the entries, in pages.

use bellwether_core::model::{JobNo, Timestamp};

use super::ages::{AGES_MAX, Ages};
use super::entry::ENTRY_BYTES;
use super::filter::{self, BLOCK_BYTES};
use super::pages::{PAGE_BYTES, PAYLOAD_BYTES, Page, hash};

const MAGIC: &[u8; 8] = b"BWKEYS02";
/// Magic, keys, the jobs before and at its end, capacity, and how many ages follow.
const NUMBERS: usize = 6;
const AGE_BYTES: usize = 16;
const _: () = assert!(NUMBERS * 8 + AGES_MAX * AGE_BYTES <= PAYLOAD_BYTES);

pub(super) const ENTRIES_PER_PAGE: u64 = (PAYLOAD_BYTES / ENTRY_BYTES) as u64;
pub(super) const FENCES_PER_PAGE: u64 = (PAYLOAD_BYTES / 8) as u64;
pub(super) const BLOCKS_PER_PAGE: u64 = (PAYLOAD_BYTES / BLOCK_BYTES) as u64;

/// For so many keys at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) capacity: u64,
    pub(super) filter_blocks: u64,
    fences_at: u64,
    pub(super) entries_at: u64,
}

impl Layout {
    pub(super) fn of(capacity: u64) -> Layout {
        let filter_blocks = filter::blocks_for(capacity);
        let fences_at = FILTER_AT + filter_blocks.div_ceil(BLOCKS_PER_PAGE);
        let fences = capacity.div_ceil(ENTRIES_PER_PAGE);
        let entries_at = fences_at + fences.div_ceil(FENCES_PER_PAGE);
        Layout { capacity, filter_blocks, fences_at, entries_at }
    }

    /// The page that this block of the filter is in.
    pub(super) fn filter_page(&self, block: u64) -> u64 {
        FILTER_AT + block / BLOCKS_PER_PAGE
    }

    pub(super) fn fence_page(&self, fence: u64) -> u64 {
        self.fences_at + fence / FENCES_PER_PAGE
    }
}

pub(super) const FILTER_AT: u64 = 1;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) keys: u64,
    pub(super) after: JobNo,
    pub(super) last: JobNo,
    pub(super) layout: Layout,
    pub(super) ages: Ages,
}

impl Head {
    pub(super) fn page(&self) -> Page {
        let ages = self.ages.points();
        let mut bytes = MAGIC.to_vec();
        let numbers =
            [self.keys, self.after.0, self.last.0, self.layout.capacity, ages.len() as u64];
        for number in numbers.into_iter().chain(ages.iter().flat_map(|(job, at)| [job.0, at.0])) {
            bytes.extend(number.to_le_bytes());
        }
        let mut page = [0; PAGE_BYTES];
        page[..bytes.len()].copy_from_slice(&bytes);
        let hash = hash(&page[..PAYLOAD_BYTES]);
        page[PAYLOAD_BYTES..].copy_from_slice(&hash);
        page
    }

    /// None if that is no head.
    pub(super) fn read(page: &Page) -> Option<Head> {
        let (words, _) = page[..PAYLOAD_BYTES].as_chunks::<8>();
        let mut numbers = words[1..].iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || numbers.next();
        let (keys, after, last) = (next()?, next()?, next()?);
        let (capacity, ages) = (next()?, next()?);
        if words[0] != *MAGIC || keys > capacity || ages > AGES_MAX as u64 {
            return None;
        }
        let mut points = Vec::new();
        for _ in 0..ages {
            points.push((JobNo(numbers.next()?), Timestamp(numbers.next()?)));
        }
        Some(Head {
            keys,
            after: JobNo(after),
            last: JobNo(last),
            layout: Layout::of(capacity),
            ages: Ages::of(points)?,
        })
    }
}
