//! What is kept of a key or an id: where its hash begins, its job, and what that came with.

use bellwether_core::model::{JobId, JobNo, Name, Timestamp};
use bellwether_wire::job::AUTOMATIC_KEY;

pub(super) const ENTRY_BYTES: usize = 16;
const START_BYTES: usize = 9;
/// No name has a control character, so no key looks like an id.
const ID_MARK: &[u8] = b"\x01id ";

/// Nine bytes of a hash, five of the job's number as counted from where the run begins, and two of its
/// content's print, which is 0 for an id. The order is that of the hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry(pub(super) [u8; ENTRY_BYTES]);

/// What a key or id is looked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Start([u8; START_BYTES]);

/// A key or id on its way into a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) start: Start,
    pub(super) job: JobNo,
    pub(super) print: u16,
    pub(super) at: Timestamp,
}

/// Whether nobody but the library knows it.
pub(super) fn is_automatic(key: &Name) -> bool {
    key.as_str().starts_with(AUTOMATIC_KEY)
}

impl Start {
    pub(super) fn of_key(key: &Name) -> Start {
        Start::of(blake3::hash(key.as_str().as_bytes()))
    }

    pub(super) fn of_id(id: &JobId) -> Start {
        let mut hasher = blake3::Hasher::new();
        hasher.update(ID_MARK).update(id.as_str().as_bytes());
        Start::of(hasher.finalize())
    }

    fn of(hash: blake3::Hash) -> Start {
        Start(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }

    /// What comes first in the order.
    pub(super) fn high(self) -> u64 {
        u64::from_be_bytes(*self.0.first_chunk().expect("it has nine bytes"))
    }

    /// What does not: for the filter, whose place follows the order.
    pub(super) fn low(self) -> u32 {
        u32::from_be_bytes(*self.0.last_chunk().expect("it has nine bytes"))
    }
}

impl Entry {
    pub(super) fn new(taken: &Taken, after: JobNo) -> Entry {
        let mut entry = [0; ENTRY_BYTES];
        entry[..START_BYTES].copy_from_slice(&taken.start.0);
        entry[9..14].copy_from_slice(&(taken.job.0 - after.0).to_be_bytes()[3..]);
        entry[14..].copy_from_slice(&taken.print.to_be_bytes());
        Entry(entry)
    }

    pub(super) fn start(self) -> Start {
        Start(*self.0.first_chunk().expect("an entry has sixteen bytes"))
    }

    pub(super) fn job(self, after: JobNo) -> JobNo {
        let mut offset = [0; 8];
        offset[3..].copy_from_slice(&self.0[9..14]);
        JobNo(after.0 + u64::from_be_bytes(offset))
    }

    pub(super) fn print(self) -> u16 {
        u16::from_be_bytes([self.0[14], self.0[15]])
    }

    /// The same in a run that begins elsewhere.
    pub(super) fn moved(self, from: JobNo, to: JobNo) -> Entry {
        let taken = Taken {
            start: self.start(),
            job: self.job(from),
            print: self.print(),
            at: Timestamp(0),
        };
        Entry::new(&taken, to)
    }
}
