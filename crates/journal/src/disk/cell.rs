//! A small file with one value that is written in place, twice, so that one torn write or one
//! damaged byte leaves the other copy.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bellwether_core::model::Seq;

use crate::chain::{Chain, Head};

/// A number, a hash, and a check over both.
const SLOT_BYTES: usize = 8 + 32 + 8;
/// Each slot in a sector of its own, so that one torn write spoils one of them.
const SLOT_STRIDE: u64 = 4096;
const FILE_BYTES: u64 = 2 * SLOT_STRIDE;

#[derive(Debug)]
pub(crate) struct Cell {
    file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    First,
    Second,
}

impl Slot {
    pub(crate) fn other(self) -> Slot {
        match self {
            Slot::First => Slot::Second,
            Slot::Second => Slot::First,
        }
    }

    fn offset(self) -> u64 {
        match self {
            Slot::First => 0,
            Slot::Second => SLOT_STRIDE,
        }
    }
}

impl Cell {
    pub(crate) fn open(path: &Path) -> io::Result<Cell> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < FILE_BYTES {
            // Room for both slots from the start, so that a disk that fills up does not matter here.
            file.write_all_at(&[0; FILE_BYTES as usize], 0)?;
        }
        Ok(Cell { file })
    }

    /// None if there is no such file.
    pub(crate) fn look(path: &Path) -> io::Result<Option<Cell>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Cell { file })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The higher of what the slots hold, and the slot that holds it.
    pub(crate) fn highest(&self) -> io::Result<Option<(Head, Slot)>> {
        let first = self.slot(Slot::First)?.map(|head| (head, Slot::First));
        let second = self.slot(Slot::Second)?.map(|head| (head, Slot::Second));
        Ok(first.into_iter().chain(second).max_by_key(|(head, _)| head.seq))
    }

    /// None if it was never written, or is damaged.
    pub(crate) fn slot(&self, slot: Slot) -> io::Result<Option<Head>> {
        let mut bytes = [0; SLOT_BYTES];
        match self.file.read_exact_at(&mut bytes, slot.offset()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let (content, stored) = bytes.split_at(40);
        let (number, hash) = content.split_at(8);
        if check(content) != stored {
            return Ok(None);
        }
        Ok(Some(Head {
            seq: Seq(u64::from_le_bytes(number.try_into().expect("a number has 8 bytes"))),
            chain: Chain(hash.try_into().expect("a hash has 32 bytes")),
        }))
    }

    pub(crate) fn write(&self, slot: Slot, head: Head) -> io::Result<()> {
        let mut bytes = [0; SLOT_BYTES];
        bytes[..8].copy_from_slice(&head.seq.0.to_le_bytes());
        bytes[8..40].copy_from_slice(&head.chain.0);
        let check = check(&bytes[..40]);
        bytes[40..].copy_from_slice(&check);
        self.file.write_all_at(&bytes, slot.offset())
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

pub(crate) fn check(content: &[u8]) -> [u8; 8] {
    let hash = blake3::hash(content);
    hash.as_bytes()[..8].try_into().expect("a hash has more than 8 bytes")
}
