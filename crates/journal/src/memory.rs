//! A journal that lives as long as the process: for tests and simulations.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;

use crate::chain::Head;
use crate::codec::decode;
use crate::journal::{AppendError, Journal, ReadError, Reader, Records, TruncateError};
use crate::journal::{check_position, trim};
use crate::recorder::Recorder;
use crate::snapshot::{OpenSnapshot, Snapshot, SnapshotError, SnapshotWriter, Snapshots};

/// What outlives a simulated scheduler. Clones are the same store.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    // Shared between the journals of successive schedulers, as a disk would be; a lock is held only
    // for one copy.
    shared: Arc<Mutex<Stored>>,
}

#[derive(Debug, Default)]
struct Stored {
    epoch: Epoch,
    base: Head,
    head: Head,
    records: VecDeque<StoredRecord>,
    snapshot: Option<Snapshot>,
    /// Appends beyond this many bytes find the disk full.
    room: Option<usize>,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct StoredRecord {
    head: Head,
    bytes: Bytes,
}

impl MemoryStore {
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Limits what the store takes, in bytes of records; none is no limit.
    pub fn limit(&self, room: Option<usize>) {
        self.lock().room = room;
    }

    /// The bytes of its records.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Flips a bit of the record at this place in the store, to see the damage found.
    pub fn damage(&self, record: usize, byte: usize, bit: u8) {
        let mut stored = self.lock();
        let record = &mut stored.records[record];
        let mut bytes = record.bytes.to_vec();
        bytes[byte] ^= 1 << bit;
        record.bytes = bytes.into();
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub struct MemoryJournal {
    store: MemoryStore,
    epoch: Epoch,
    recorder: Recorder,
}

impl MemoryJournal {
    /// Verifies what is there and takes a new epoch.
    pub fn open(store: &MemoryStore) -> Result<MemoryJournal, ReadError> {
        let (epoch, base, head, records) = {
            let mut stored = store.lock();
            stored.epoch = stored.epoch.next();
            (stored.epoch, stored.base, stored.head, stored.records.clone())
        };
        verified(base, records.into()).try_for_each(|record| record.map(drop))?;
        Ok(MemoryJournal { store: store.clone(), epoch, recorder: Recorder::new(head) })
    }
}

impl Journal for MemoryJournal {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn head(&self) -> Head {
        self.recorder.head()
    }

    fn append(
        &mut self,
        epoch: Epoch,
        expected: Seq,
        entries: &[Entry],
    ) -> Result<Head, AppendError> {
        let mut stored = self.store.lock();
        if stored.epoch != epoch {
            return Err(AppendError::Fenced { current: stored.epoch });
        }
        check_position(stored.head, expected, entries)?;
        if entries.is_empty() {
            return Ok(stored.head);
        }
        let draft = self.recorder.draft(epoch, entries);
        if stored.room.is_some_and(|room| stored.bytes + draft.bytes.len() > room) {
            return Err(AppendError::Full);
        }
        let head = draft.head;
        stored.bytes += draft.bytes.len();
        stored.records.push_back(StoredRecord { head, bytes: Bytes::copy_from_slice(draft.bytes) });
        stored.head = head;
        self.recorder.accept(head);
        Ok(head)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        Ok(Box::new(self.store.clone()))
    }

    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        let mut stored = self.store.lock();
        if stored.epoch != self.epoch {
            return Err(AppendError::Fenced { current: stored.epoch }.into());
        }
        if stored.snapshot.as_ref().is_none_or(|snapshot| snapshot.head.seq.next() < seq) {
            return Err(TruncateError::NoSnapshot { before: seq });
        }
        while let Some(record) = stored.records.pop_front_if(|record| record.head.seq < seq) {
            stored.base = record.head;
            stored.bytes -= record.bytes.len();
        }
        Ok(())
    }
}

impl Reader for MemoryJournal {
    fn base(&self) -> Result<Head, ReadError> {
        self.store.base()
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.store.read(from)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        self.store.snapshots()
    }
}

impl Reader for MemoryStore {
    fn base(&self) -> Result<Head, ReadError> {
        Ok(self.lock().base)
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        let stored = self.lock();
        if from <= stored.base.seq {
            return Err(ReadError::Truncated { first: stored.base.seq.next() });
        }
        let skipped = stored.records.partition_point(|record| record.head.seq < from);
        let prior = match skipped.checked_sub(1) {
            Some(before) => stored.records[before].head,
            None => stored.base,
        };
        let wanted = stored.records.range(skipped..).cloned().collect();
        Ok(Box::new(verified(prior, wanted).map(move |record| Ok(trim(record?, from)))))
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(self.clone())
    }
}

impl Snapshots for MemoryStore {
    fn begin(&self, head: Head) -> Result<Box<dyn SnapshotWriter>, SnapshotError> {
        Ok(Box::new(MemorySnapshot { store: self.clone(), head, bytes: Vec::new() }))
    }

    fn load(&self) -> Result<Option<Snapshot>, SnapshotError> {
        Ok(self.lock().snapshot.clone())
    }

    fn head(&self) -> Result<Option<Head>, SnapshotError> {
        Ok(self.lock().snapshot.as_ref().map(|snapshot| snapshot.head))
    }

    fn open(&self) -> Result<Option<Box<dyn io::Read + Send>>, SnapshotError> {
        let bytes = self.lock().snapshot.as_ref().map(|snapshot| snapshot.bytes.clone());
        Ok(bytes.map(|bytes| Box::new(io::Cursor::new(bytes)) as Box<dyn io::Read + Send>))
    }

    /// There is only the latest.
    fn open_oldest(&self, base: Seq) -> Result<Option<OpenSnapshot>, SnapshotError> {
        let head = self.head()?.filter(|head| head.seq >= base);
        Ok(head.zip(self.open()?))
    }
}

#[derive(Debug)]
struct MemorySnapshot {
    store: MemoryStore,
    head: Head,
    bytes: Vec<u8>,
}

impl SnapshotWriter for MemorySnapshot {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SnapshotError> {
        let snapshot = Snapshot { head: self.head, bytes: self.bytes.into() };
        self.store.lock().snapshot = Some(snapshot);
        Ok(())
    }
}

fn verified(
    base: Head,
    records: Vec<StoredRecord>,
) -> impl Iterator<Item = Result<decode::Record, ReadError>> {
    let mut prior = base;
    records.into_iter().map(move |stored| {
        let record = decode::record(prior, stored.head.chain, stored.bytes)?;
        prior = record.head();
        Ok(record)
    })
}
