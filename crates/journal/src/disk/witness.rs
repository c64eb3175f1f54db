//! A second opinion on how far the journal goes.
//!
//! A record that fails its check at the end of the journal is either torn, never acknowledged and
//! rightly cut, or acknowledged and damaged since. The records alone can't tell; this small file
//! can. After each append it is told the new head, without a sync: that costs a microsecond,
//! outlives the process, and reaches the disk long before damage creeps in. It is never ahead of
//! what is durable. Losing it, or an update of it, only makes it blind, so damage here is harmless.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bellwether_core::model::Seq;

use crate::chain::{Chain, Head};
use crate::journal::{Damage, Flaw};

pub(crate) const FILE: &str = "head";

/// Position, chain, and a check over both.
const SLOT_BYTES: usize = 8 + 32 + 8;
/// Each slot in a sector of its own, so that one torn write spoils one of them.
const SLOT_STRIDE: u64 = 4096;
const FILE_BYTES: u64 = 2 * SLOT_STRIDE;

#[derive(Debug)]
pub(crate) struct Witness {
    file: File,
    latest: Option<Head>,
    next_slot: u64,
}

impl Witness {
    pub(crate) fn open(dir: &Path) -> io::Result<Witness> {
        let path = dir.join(FILE);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < FILE_BYTES {
            // Room for both slots from the start, so that a disk that fills up does not blind it.
            file.write_all_at(&[0; FILE_BYTES as usize], 0)?;
        }
        let slots = [read_slot(&file, 0)?, read_slot(&file, 1)?];
        let next_slot = u64::from(slots[0].map(|head| head.seq) > slots[1].map(|head| head.seq));
        let latest = slots.into_iter().flatten().max_by_key(|head| head.seq);
        Ok(Witness { file, latest, next_slot })
    }

    /// Only looks, for a reader that must change nothing.
    pub(crate) fn peek(dir: &Path) -> io::Result<Option<Head>> {
        match File::open(dir.join(FILE)) {
            Ok(file) => {
                let slots = [read_slot(&file, 0)?, read_slot(&file, 1)?];
                Ok(slots.into_iter().flatten().max_by_key(|head| head.seq))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What was acknowledged at least.
    pub(crate) fn latest(&self) -> Option<Head> {
        self.latest
    }

    /// The journal is durable up to here.
    pub(crate) fn note(&mut self, head: Head) {
        let mut slot = [0; SLOT_BYTES];
        slot[..8].copy_from_slice(&head.seq.0.to_le_bytes());
        slot[8..40].copy_from_slice(&head.chain.0);
        let check = check(&slot[..40]);
        slot[40..].copy_from_slice(&check);
        // The record is durable whether or not this succeeds. If not, an older head stands, which
        // is a witness with a worse memory and nothing to stop for.
        if self.file.write_all_at(&slot, self.next_slot * SLOT_STRIDE).is_ok() {
            self.next_slot = 1 - self.next_slot;
            self.latest = Some(head);
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // After an orderly end its word reaches the disk at once; else it does within seconds.
        drop(self.file.sync_data());
    }
}

/// Compares what the journal holds with what was acknowledged, record by record.
#[derive(Debug)]
pub(crate) struct Testimony {
    acknowledged: Option<Head>,
}

impl Testimony {
    pub(crate) fn new(acknowledged: Option<Head>) -> Testimony {
        Testimony { acknowledged }
    }

    /// The journal has a record that ends here.
    pub(crate) fn compare(&self, found: Head) -> Result<(), Damage> {
        match self.acknowledged {
            Some(head) if head.seq == found.seq && head.chain != found.chain => {
                Err(Damage { at: found.seq, flaw: Flaw::Chain })
            }
            _ => Ok(()),
        }
    }

    /// The journal ends here.
    pub(crate) fn conclude(&self, end: Head) -> Result<(), Damage> {
        match self.acknowledged {
            Some(head) if head.seq > end.seq => {
                Err(Damage { at: end.seq.next(), flaw: Flaw::Lost { acknowledged: head.seq } })
            }
            _ => Ok(()),
        }
    }
}

/// None if it was never written, or is damaged.
fn read_slot(file: &File, slot: u64) -> io::Result<Option<Head>> {
    let mut bytes = [0; SLOT_BYTES];
    match file.read_exact_at(&mut bytes, slot * SLOT_STRIDE) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let (content, stored) = bytes.split_at(40);
    let (seq, chain) = content.split_at(8);
    if check(content) != stored {
        return Ok(None);
    }
    Ok(Some(Head {
        seq: Seq(u64::from_le_bytes(seq.try_into().expect("the position has 8 bytes"))),
        chain: Chain(chain.try_into().expect("the chain has 32 bytes")),
    }))
}

fn check(content: &[u8]) -> [u8; 8] {
    let hash = blake3::hash(content);
    hash.as_bytes()[..8].try_into().expect("a hash has more than 8 bytes")
}
