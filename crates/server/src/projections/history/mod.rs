//! The journal, for those who read it from the start or follow it.

mod cursor;
mod names;
mod seen;
mod tail;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bellwether_core::model::Seq;
use bellwether_journal::{ReadError, Reader, Record};

use crate::projections::registry::Registry;
pub(crate) use cursor::{Cursor, CursorError};
use names::Names;
pub(crate) use seen::Seen;
pub(crate) use tail::TailEnd;
use tail::{Tail, Watching};

/// The journal is kept for a follower that is this far behind, and no further: one that is gone for
/// good must not fill the disk.
const FOLLOWED_EVENTS_MAX: u64 = 5_000_000;

#[derive(Clone)]
pub(crate) struct History {
    // One reader for all: it is held for one bounded read, on a thread that may block.
    reader: Arc<Mutex<Box<dyn Reader>>>,
    followers: Followers,
    tail: Tail,
    names: Names,
}

/// Those who read on where they were after a restart, and for whom the journal is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Followers {
    // Held only to add one, or to look at all when a snapshot was saved.
    positions: Arc<Mutex<Vec<Arc<AtomicU64>>>>,
}

/// One of them. What it has passed may be forgotten.
#[derive(Debug)]
pub(crate) struct Follower(Arc<AtomicU64>);

impl Follower {
    pub(crate) fn passed(&self, position: Seq) {
        self.0.store(position.0, Ordering::Relaxed);
    }
}

impl Followers {
    /// The first position that somebody still wants to read.
    pub(crate) fn wanted(&self, durable: Seq) -> Seq {
        let mut positions = self.positions.lock().unwrap_or_else(PoisonError::into_inner);
        positions.retain(|position| Arc::strong_count(position) > 1);
        let passed = positions.iter().map(|position| position.load(Ordering::Relaxed)).min();
        let oldest = durable.0.saturating_sub(FOLLOWED_EVENTS_MAX);
        Seq(passed.unwrap_or(durable.0).max(oldest)).next()
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("History")
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the reader has stopped")]
    Stopped,
}

impl History {
    pub(crate) fn new(reader: Box<dyn Reader>) -> History {
        History {
            reader: Arc::new(Mutex::new(reader)),
            followers: Followers::default(),
            tail: Tail::default(),
            names: Names::default(),
        }
    }

    /// For the loop, which adds to it.
    pub(crate) fn tail(&self) -> TailEnd {
        self.tail.end()
    }

    pub(crate) fn cursor(&self, registry: &Registry, next: Seq) -> Cursor {
        Cursor::new(self.clone(), registry.clone(), next)
    }

    pub(crate) fn followers(&self) -> Followers {
        self.followers.clone()
    }

    /// From now on the journal is kept from this position on, as long as that is not too far behind.
    pub(crate) fn follow(&self, passed: Seq) -> Follower {
        let position = Arc::new(AtomicU64::new(passed.0));
        let positions = &self.followers.positions;
        positions.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&position));
        Follower(position)
    }

    /// The records that hold what lies between two positions, which are durable.
    pub(crate) async fn read_between(
        &self,
        first: Seq,
        last: Seq,
    ) -> Result<Vec<Arc<Record>>, HistoryError> {
        let (mut records, mut next) = (Vec::new(), first);
        while next <= last {
            let entries = usize::try_from(last.0 - next.0 + 1).unwrap_or(usize::MAX);
            // The tail may lack the newest: what came while somebody read it is added with the next.
            let read = self.read(next, entries).await?;
            let Some(newest) = read.last() else { break };
            next = newest.head().seq.next();
            records.extend(read);
        }
        Ok(records)
    }

    /// Records from the one on that holds `from`, about so many entries of them, or fewer.
    pub(crate) async fn read(
        &self,
        from: Seq,
        entries: usize,
    ) -> Result<Vec<Arc<Record>>, HistoryError> {
        if let Some(records) = self.tail.read(from, entries) {
            return Ok(records);
        }
        let history = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let reader = history.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut records = Vec::new();
            let mut count = 0;
            for record in reader.read(from)? {
                let record = record?;
                count += record.entries.len();
                records.push(Arc::new(record));
                if count >= entries {
                    break;
                }
            }
            Ok(records)
        });
        read.await.map_err(|_| HistoryError::Stopped)?
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{ActorNo, Epoch, JobNo, Timestamp};
    use bellwether_core::{Entry, Event};
    use bellwether_journal::{Chain, Head, Records, Snapshots};

    use super::*;

    fn record(seq: u64) -> Record {
        let event = Event::Due { job: JobNo(1) };
        let (seq, at) = (Seq(seq), Timestamp(seq));
        let entries = vec![Entry {
            seq,
            at,
            parent: None,
            actor: ActorNo::default(),
            event,
            moved: Box::default(),
        }];
        Record { epoch: Epoch(1), prior: Chain([0; 32]), chain: Chain([1; 32]), entries }
    }

    /// A journal of five records.
    struct Five;

    impl Reader for Five {
        fn base(&self) -> Result<Head, ReadError> {
            Ok(Head { seq: Seq(0), chain: Chain([0; 32]) })
        }

        fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
            Ok(Box::new((from.0..=5).map(|seq| Ok(record(seq)))))
        }

        fn snapshots(&self) -> Box<dyn Snapshots> {
            unreachable!("nobody asks for them here")
        }
    }

    #[tokio::test]
    async fn what_the_tail_lacks_of_a_span_is_read_from_the_journal() {
        let history = History::new(Box::new(Five));
        let _watching = history.tail.watch();
        let mut end = history.tail();
        for seq in 1..=3 {
            end.push(&Arc::new(record(seq)));
        }
        let firsts = |records: Vec<Arc<Record>>| -> Vec<u64> {
            records.iter().map(|record| record.first().0).collect()
        };
        assert_eq!(firsts(history.read(Seq(1), 10).await.unwrap()), [1, 2, 3]);
        assert_eq!(firsts(history.read_between(Seq(1), Seq(5)).await.unwrap()), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_a_follower_has_not_passed_is_wanted_up_to_a_bound() {
        let followers = Followers::default();
        assert_eq!(followers.wanted(Seq(10)), Seq(11));
        let position = Arc::new(AtomicU64::new(4));
        followers.positions.lock().unwrap().push(Arc::clone(&position));
        let follower = Follower(position);
        assert_eq!(followers.wanted(Seq(10)), Seq(5));
        follower.passed(Seq(7));
        assert_eq!(followers.wanted(Seq(10)), Seq(8));
        assert_eq!(followers.wanted(Seq(FOLLOWED_EVENTS_MAX + 100)), Seq(101));
        drop(follower);
        assert_eq!(followers.wanted(Seq(10)), Seq(11));
    }
}
