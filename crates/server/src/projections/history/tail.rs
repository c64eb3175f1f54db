//! The end of the journal in memory, for those who follow closely: they need not each read from disk
//! and decode what the loop held in its hands a moment ago.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use bellwether_core::model::{AcceptedJob, JobSpec, Seq};
use bellwether_core::{Decision, Entry, Event};
use bellwether_journal::Record;

/// What is kept at most; whoever is further behind reads from disk, which costs several times as much.
/// About 100,000 jobs that were submitted all at once.
const BYTES_MAX: usize = 128 << 20;
/// The texts of a job without its payload, about.
const TEXT_BYTES: usize = 150;

#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    watchers: AtomicUsize,
    // Held to add a record, or to find some.
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// Without gaps.
    records: VecDeque<Arc<Record>>,
    bytes: usize,
}

/// As long as there is one, the tail is kept.
#[derive(Debug)]
pub(crate) struct Watching(Arc<Shared>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tail {
    pub(crate) fn watch(&self) -> Watching {
        self.0.watchers.fetch_add(1, Ordering::Relaxed);
        Watching(Arc::clone(&self.0))
    }

    /// The records that hold `from` and what follows, about so many entries. None if this does not
    /// have it.
    pub(super) fn read(&self, from: Seq, entries: usize) -> Option<Vec<Arc<Record>>> {
        let recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = (recent.records.front()?, recent.records.back()?);
        if from < first.first() || from > last.head().seq {
            return None;
        }
        let start = recent.records.partition_point(|record| record.head().seq < from);
        let mut count = 0;
        let more = recent.records.range(start..).take_while(|record| {
            let enough = count >= entries;
            count += record.entries.len();
            !enough
        });
        Some(more.cloned().collect())
    }

    pub(crate) fn end(&self) -> TailEnd {
        TailEnd { tail: self.clone(), waiting: Vec::new() }
    }
}

/// For the loop, which adds to the tail.
#[derive(Debug)]
pub(crate) struct TailEnd {
    tail: Tail,
    /// What could not be added because somebody was reading.
    waiting: Vec<Arc<Record>>,
}

impl TailEnd {
    /// Takes in what has become durable, if anybody follows. Gives back what is no longer kept: to
    /// free it takes a while, which is not for the loop. It never waits either: whoever reads may
    /// have to wait for a processor.
    pub(crate) fn push(&mut self, record: &Arc<Record>) -> Vec<Arc<Record>> {
        let shared = &self.tail.0;
        let mut recent = match shared.recent.try_lock() {
            Ok(recent) => recent,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.waiting.push(Arc::clone(record));
                return Vec::new();
            }
        };
        let mut old = Vec::new();
        if shared.watchers.load(Ordering::Relaxed) == 0 {
            old.append(&mut self.waiting);
            old.extend(std::mem::take(&mut *recent).records);
            return old;
        }
        for record in self.waiting.drain(..).chain([Arc::clone(record)]) {
            recent.add(record, &mut old);
        }
        old
    }
}

impl Recent {
    fn add(&mut self, record: Arc<Record>, old: &mut Vec<Arc<Record>>) {
        if self.records.back().is_some_and(|last| last.head().seq.next() != record.first()) {
            old.extend(std::mem::take(self).records);
        }
        self.bytes += size(&record);
        self.records.push_back(record);
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.records.pop_front()
        {
            self.bytes -= size(&oldest);
            old.push(oldest);
        }
    }
}

fn size(record: &Record) -> usize {
    record.entries.iter().map(entry_size).sum()
}

fn entry_size(entry: &Entry) -> usize {
    let more = match &entry.event {
        Event::Submitted { jobs, .. } => {
            let own = size_of::<AcceptedJob>() + size_of::<JobSpec>() + TEXT_BYTES;
            jobs.iter().map(|job| own + job.spec.payload.len()).sum()
        }
        Event::Assigned { decision, .. } => size_of::<Decision>() + size_of_val(&*decision.losers),
        Event::Completed { result, .. } => result.len(),
        _ => 0,
    };
    size_of::<Entry>() + more
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{ActorNo, Epoch, JobNo, Timestamp, Token};
    use bellwether_journal::Chain;

    use super::*;

    fn record(first: u64, last: u64, result_bytes: usize) -> Arc<Record> {
        let completed = |seq| Entry {
            seq: Seq(seq),
            at: Timestamp(seq),
            parent: None,
            actor: ActorNo::default(),
            event: Event::Completed {
                job: JobNo(1),
                token: Token(1),
                result: vec![0; result_bytes].into(),
                result_hash: [0; 32],
            },
            moved: Box::default(),
        };
        let entries = (first..=last).map(completed).collect();
        Arc::new(Record { epoch: Epoch(1), prior: Chain([0; 32]), chain: Chain([1; 32]), entries })
    }

    fn firsts(records: Option<Vec<Arc<Record>>>) -> Option<Vec<u64>> {
        Some(records?.iter().map(|record| record.first().0).collect())
    }

    #[test]
    fn only_what_somebody_follows_is_kept() {
        let tail = Tail::default();
        let mut end = tail.end();
        end.push(&record(1, 2, 0));
        assert_eq!(firsts(tail.read(Seq(1), 10)), None);
        let watching = tail.watch();
        end.push(&record(3, 5, 0));
        end.push(&record(6, 6, 0));
        assert_eq!(firsts(tail.read(Seq(2), 10)), None);
        assert_eq!(firsts(tail.read(Seq(4), 10)), Some(vec![3, 6]));
        assert_eq!(firsts(tail.read(Seq(4), 3)), Some(vec![3]));
        assert_eq!(firsts(tail.read(Seq(6), 10)), Some(vec![6]));
        assert_eq!(firsts(tail.read(Seq(7), 10)), None);
        drop(watching);
        assert_eq!(end.push(&record(7, 7, 0)).len(), 2);
        assert_eq!(firsts(tail.read(Seq(7), 10)), None);
    }

    #[test]
    fn memory_is_bounded_and_a_gap_starts_over() {
        let tail = Tail::default();
        let mut end = tail.end();
        let _watching = tail.watch();
        for seq in 1..=200 {
            end.push(&record(seq, seq, 1 << 20));
        }
        assert!(tail.read(Seq(70), 10).is_none());
        assert!(tail.read(Seq(90), 10).is_some());
        end.push(&record(300, 300, 0));
        assert_eq!(firsts(tail.read(Seq(300), 10)), Some(vec![300]));
        assert!(tail.read(Seq(200), 10).is_none());
    }
}
