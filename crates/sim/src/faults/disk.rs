//! The scheduler's disk: the journal and the latest snapshot, with the ways in which they fail.

use std::collections::VecDeque;

use bellwether_core::Entry;
use bellwether_core::model::Seq;
use bellwether_journal::{Head, Journal, MemoryJournal, MemoryStore, Reader, Snapshot};
use bytes::Bytes;

use super::defect::Defect;
use super::random::split_mix;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    store: MemoryStore,
    /// Of the scheduler that runs.
    journal: Option<MemoryJournal>,
    head: Head,
    /// Last position and bytes of each record that is kept.
    records: VecDeque<(Seq, usize)>,
    /// A record of which only a part reached the disk.
    torn: Option<Vec<Entry>>,
}

/// What a new process finds.
#[derive(Debug)]
pub(crate) struct Opened {
    pub snapshot: Option<Bytes>,
    /// After the snapshot.
    pub entries: Vec<Entry>,
}

impl Disk {
    /// Durable when it returns.
    pub(crate) fn append(&mut self, batch: &[Entry]) -> Result<(), String> {
        let journal = self.journal.as_mut().ok_or("nobody has opened the journal")?;
        let before = self.store.bytes();
        let expected = journal.head().seq;
        let head =
            journal.append(journal.epoch(), expected, batch).map_err(|error| error.to_string())?;
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

    /// Takes the journal over for a new process.
    pub(crate) fn open(&mut self, defect: Option<Defect>) -> Result<Opened, String> {
        let journal = MemoryJournal::open(&self.store).map_err(|error| error.to_string())?;
        self.journal = Some(journal);
        // What was never acknowledged is cut; to take it for a record is one of the known bugs.
        if let Some(half) = self.torn.take().filter(|half| !half.is_empty())
            && defect == Some(Defect::SkipTornTailCheck)
        {
            self.append(&half)?;
        }
        let journal = self.journal.as_ref().ok_or("it was opened a few lines ago")?;
        let snapshot = journal.load_snapshot().map_err(|error| error.to_string())?;
        let from = snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.head.seq).next();
        let mut entries = Vec::new();
        for record in journal.read(from).map_err(|error| error.to_string())? {
            entries.extend(record.map_err(|error| error.to_string())?.entries);
        }
        match defect {
            Some(Defect::ReplayTwice) => entries.extend(entries.last().cloned()),
            Some(Defect::ReplayShort) => {
                entries.pop();
            }
            _ => {}
        }
        Ok(Opened { snapshot: snapshot.map(|snapshot| snapshot.bytes), entries })
    }

    /// Keeps a snapshot of the state at `seq`, and now and then forgets what it stands for.
    pub(crate) fn keep_snapshot(&mut self, seq: Seq, bytes: Vec<u8>) -> Result<(), String> {
        let journal = self.journal.as_mut().ok_or("nobody has opened the journal")?;
        let head = Head { seq, chain: self.head.chain };
        let snapshot = Snapshot { head, bytes: Bytes::from(bytes) };
        journal.save_snapshot(&snapshot).map_err(|error| error.to_string())?;
        if seq.0.is_multiple_of(2) && seq <= self.head.seq {
            journal.truncate_before(seq).map_err(|error| error.to_string())?;
            self.records.retain(|(last, _)| *last >= seq);
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
            Err(_) => Ok(()),
            Ok(_) => Err(format!("bit {bit} of byte {byte} of record {record} goes unnoticed")),
        }
    }
}
