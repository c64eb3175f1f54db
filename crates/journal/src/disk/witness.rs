//! A second opinion on how far the journal goes.
//!
//! A record that fails its check at the end of the journal is either torn, never acknowledged and
//! rightly cut, or acknowledged and damaged since. The records alone can't tell; this small file
//! can. After each append it is told the new head, without a sync: that costs a microsecond,
//! outlives the process, and reaches the disk long before damage creeps in. It is never ahead of
//! what is durable. Losing it, or an update of it, only makes it blind, so damage here is harmless.

use std::io;
use std::path::Path;

use crate::chain::Head;
use crate::disk::cell::{Cell, Slot};
use crate::disk::snapshots::SnapshotFiles;
use crate::journal::{Damage, Flaw};

pub(crate) const FILE: &str = "head";

#[derive(Debug)]
pub(crate) struct Witness {
    cell: Cell,
    next: Slot,
}

impl Witness {
    pub(crate) fn open(dir: &Path) -> io::Result<Witness> {
        let cell = Cell::open(&dir.join(FILE))?;
        let highest = cell.highest()?;
        Ok(Witness { cell, next: highest.map_or(Slot::First, |(_, slot)| slot.other()) })
    }

    /// Only looks.
    pub(crate) fn peek(dir: &Path) -> io::Result<Option<Head>> {
        let Some(cell) = Cell::look(&dir.join(FILE))? else { return Ok(None) };
        Ok(cell.highest()?.map(|(head, _)| head))
    }

    /// The journal is durable up to here.
    pub(crate) fn note(&mut self, head: Head) {
        // The record is durable whether or not this succeeds. If not, an older head stands, which
        // is a witness with a worse memory and nothing to stop for.
        if self.cell.write(self.next, head).is_ok() {
            self.next = self.next.other();
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // After an orderly end its word reaches the disk at once; else it does within seconds.
        drop(self.cell.sync());
    }
}

/// Compares what the journal holds with what is known of it from elsewhere, record by record.
#[derive(Debug)]
pub(crate) struct Testimony {
    acknowledged: Vec<Head>,
}

impl Testimony {
    /// Of the witness, and of the latest snapshot: it was taken of durable state.
    pub(crate) fn hear(dir: &Path) -> io::Result<Testimony> {
        let witnessed = Witness::peek(dir)?;
        let snapshot = SnapshotFiles::new(dir).latest_head()?;
        Ok(Testimony { acknowledged: witnessed.into_iter().chain(snapshot).collect() })
    }

    /// The journal starts here, or has a record that ends here.
    pub(crate) fn compare(&self, found: Head) -> Result<(), Damage> {
        let differs = |head: &Head| head.seq == found.seq && head.chain != found.chain;
        if self.acknowledged.iter().any(differs) {
            return Err(Damage { at: found.seq, flaw: Flaw::Chain });
        }
        Ok(())
    }

    /// The journal ends here.
    pub(crate) fn conclude(&self, end: Head) -> Result<(), Damage> {
        match self.acknowledged.iter().map(|head| head.seq).max() {
            Some(acknowledged) if acknowledged > end.seq => {
                Err(Damage { at: end.seq.next(), flaw: Flaw::Lost { acknowledged } })
            }
            _ => Ok(()),
        }
    }
}
