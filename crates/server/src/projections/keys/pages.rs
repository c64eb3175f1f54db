//! Files in pages that each carry a hash of themselves, so that damage is found where it is read, and a
//! large file need not be read as a whole to be trusted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

pub(super) const PAGE_BYTES: usize = 4_096;
const HASH_BYTES: usize = 16;
/// What a page holds.
pub(super) const PAYLOAD_BYTES: usize = PAGE_BYTES - HASH_BYTES;
/// Pages that are written in one go.
const PAGES_GATHERED: usize = 64;

pub(super) type Page = [u8; PAGE_BYTES];

/// None if it is damaged or not there.
pub(super) fn read(file: &File, number: u64) -> io::Result<Option<Page>> {
    let mut page = [0; PAGE_BYTES];
    match file.read_exact_at(&mut page, number * PAGE_BYTES as u64) {
        Ok(()) => Ok((page[PAYLOAD_BYTES..] == hash(&page[..PAYLOAD_BYTES])).then_some(page)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn hash(payload: &[u8]) -> [u8; HASH_BYTES] {
    let hash = blake3::hash(payload);
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}

/// Pages that are written one after the other, from a place in a file on.
#[derive(Debug)]
pub(super) struct Area {
    /// Where the first of those that are gathered goes.
    next: u64,
    gathered: Vec<u8>,
    /// What the page at hand holds so far.
    filled: usize,
}

impl Area {
    pub(super) fn new(first: u64) -> Area {
        Area { next: first, gathered: Vec::new(), filled: 0 }
    }

    /// Things of one size follow each other; none lies in two pages.
    pub(super) fn push(&mut self, file: &File, thing: &[u8]) -> io::Result<()> {
        if self.filled + thing.len() > PAYLOAD_BYTES {
            self.end_page(file)?;
        }
        self.gathered.extend_from_slice(thing);
        self.filled += thing.len();
        Ok(())
    }

    pub(super) fn finish(mut self, file: &File) -> io::Result<()> {
        if self.filled > 0 {
            self.end_page(file)?;
        }
        self.write(file)
    }

    fn end_page(&mut self, file: &File) -> io::Result<()> {
        let begin = self.gathered.len() - self.filled;
        self.gathered.resize(begin + PAYLOAD_BYTES, 0);
        let hash = hash(&self.gathered[begin..]);
        self.gathered.extend_from_slice(&hash);
        self.filled = 0;
        if self.gathered.len() >= PAGES_GATHERED * PAGE_BYTES { self.write(file) } else { Ok(()) }
    }

    fn write(&mut self, file: &File) -> io::Result<()> {
        file.write_all_at(&self.gathered, self.next * PAGE_BYTES as u64)?;
        self.next += (self.gathered.len() / PAGE_BYTES) as u64;
        self.gathered.clear();
        Ok(())
    }
}
