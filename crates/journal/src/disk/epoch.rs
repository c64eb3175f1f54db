//! The reign over a data directory, for backends that have no better place for it.

use std::io;
use std::path::Path;

use bellwether_core::model::{Epoch, Seq};

use crate::chain::{Chain, Head};
use crate::disk::cell::{Cell, Slot};

const FILE: &str = "epoch";

#[derive(Debug)]
pub(crate) struct EpochFile {
    cell: Cell,
}

impl EpochFile {
    pub(crate) fn open(dir: &Path) -> io::Result<EpochFile> {
        Ok(EpochFile { cell: Cell::open(&dir.join(FILE))? })
    }

    /// The latest reign; zero before the first.
    pub(crate) fn current(&self) -> io::Result<Epoch> {
        Ok(self.cell.highest()?.map_or(Epoch(0), |(head, _)| Epoch(head.seq.0)))
    }

    /// Begins a reign, durably, in both slots: damage to either must not let it begin again.
    pub(crate) fn begin(&self, epoch: Epoch) -> io::Result<()> {
        let value = Head { seq: Seq(epoch.0), chain: Chain::GENESIS };
        for slot in [Slot::First, Slot::Second] {
            self.cell.write(slot, value)?;
            self.cell.sync()?;
        }
        Ok(())
    }
}
