//! The scheduler's disk: the journal and the latest snapshot, with the ways in which they fail.

use std::collections::VecDeque;

use bellwether_core::Entry;
use bellwether_core::model::Seq;
use bellwether_journal::{
    AppendError, Head, Journal, MemoryJournal, MemoryStore, Reader, Snapshot,
};

use super::defect::{Defect, DiskDefect};
use super::keys::KeyFiles;
use super::random::split_mix;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    store: MemoryStore,
    head: Head,
    /// Last position and bytes of each record that is kept.
    records: VecDeque<(Seq, usize)>,
    /// A record of which only a part reached the disk.
    torn: Option<Vec<Entry>>,
    full: bool,
    defect: Option<Defect>,
    pub(crate) keys: KeyFiles,
}

/// What a process finds.
#[derive(Debug)]
pub(crate) struct Opened {
    pub snapshot: Option<Snapshot>,
    /// After the snapshot.
    pub entries: Vec<Entry>,
}

impl Disk {
    pub(crate) fn new(defect: Option<Defect>) -> Disk {
        Disk { defect, ..Disk::default() }
    }

    /// Durable when it returns.
    pub(crate) fn append(
        &mut self,
        journal: &mut MemoryJournal,
        batch: &[Entry],
    ) -> Result<(), AppendError> {
        let before = self.store.bytes();
        let head = journal.append(journal.epoch(), journal.head().seq, batch)?;
        self.head = head;
        self.records.push_back((head.seq, self.store.bytes() - before));
        self.torn = None;
        Ok(())
    }

    /// Power fails in the middle of an append: a part of the record is there, never acknowledged.
    pub(crate) fn tear(&mut self, batch: &[Entry], draw: u64) {
        let kept = (draw % batch.len().max(1) as u64) as usize;
        self.torn = Some(batch[..kept].to_vec());
    }

    pub(crate) fn fill(&mut self) {
        self.full = true;
        self.store.limit(Some(self.store.bytes()));
    }

    pub(crate) fn make_room(&mut self) {
        self.full = false;
        self.store.limit(None);
    }

    pub(crate) fn has_room(&self) -> bool {
        !self.full
    }

    /// Takes the journal over for a new reign.
    pub(crate) fn open(&mut self) -> Result<(MemoryJournal, Opened), String> {
        let mut journal = MemoryJournal::open(&self.store).map_err(|error| error.to_string())?;
        // What was never acknowledged is cut; to take it for a record is one of the known bugs.
        if let Some(half) = self.torn.take().filter(|half| !half.is_empty())
            && self.has(DiskDefect::SkipTornTailCheck)
        {
            self.append(&mut journal, &half).map_err(|error| error.to_string())?;
        }
        let opened = self.read(&journal)?;
        Ok((journal, opened))
    }

    /// What the journal holds.
    pub(crate) fn read(&self, journal: &MemoryJournal) -> Result<Opened, String> {
        let snapshot = journal.load_snapshot().map_err(|error| error.to_string())?;
        let from = snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.head.seq).next();
        let mut entries = Vec::new();
        for record in journal.read(from).map_err(|error| error.to_string())? {
            entries.extend(record.map_err(|error| error.to_string())?.entries);
        }
        if self.has(DiskDefect::ReplayTwice) {
            entries.extend(entries.last().cloned());
        }
        if self.has(DiskDefect::ReplayShort) {
            entries.pop();
        }
        Ok(Opened { snapshot, entries })
    }

    pub(crate) fn save(
        &mut self,
        journal: &mut MemoryJournal,
        snapshot: &Snapshot,
    ) -> Result<(), String> {
        journal.save_snapshot(snapshot).map_err(|error| error.to_string())
    }

    /// Forgets what a snapshot stands for.
    pub(crate) fn truncate(
        &mut self,
        journal: &mut MemoryJournal,
        before: Seq,
    ) -> Result<(), String> {
        journal.truncate_before(before).map_err(|error| error.to_string())?;
        self.records.retain(|(last, _)| *last >= before);
        if self.full {
            self.fill();
        }
        Ok(())
    }

    pub(crate) fn chain_head(&self) -> [u8; 32] {
        self.head.chain.0
    }

    /// Flips one bit, chosen by `draw`, and opens the journal: it must not open. Then flips it
    /// back.
    pub(crate) fn notices_flip(&self, draw: u64) -> Result<(), String> {
        if self.records.is_empty() {
            return Ok(());
        }
        let mut mixer = draw ^ self.head.seq.0;
        let record = (split_mix(&mut mixer) % self.records.len() as u64) as usize;
        let byte = (split_mix(&mut mixer) % self.records[record].1.max(1) as u64) as usize;
        let bit = (split_mix(&mut mixer) % 8) as u8;
        self.store.damage(record, byte, bit);
        let opened = MemoryJournal::open(&self.store);
        self.store.damage(record, byte, bit);
        match opened {
            Err(_) if !self.has(DiskDefect::SkipChainCheck) => Ok(()),
            _ => Err(format!("bit {bit} of byte {byte} of record {record} goes unnoticed")),
        }
    }
    fn has(&self, defect: DiskDefect) -> bool {
        self.defect == Some(Defect::Disk(defect))
    }
}
