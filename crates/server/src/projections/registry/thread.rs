//! The registry's own thread: it takes durable entries, or reads them from the journal when it has
//! fallen behind, and writes them in batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use bellwether_core::Entry;
use bellwether_core::model::Seq;
use bellwether_journal::{ReadError, Reader, Record, SnapshotError, state};
use tokio::sync::watch;

use super::projection::{Pace, Projection};
use crate::priority;

/// How long a job that has ended may wait to be written.
const ENDED_INTERVAL: Duration = Duration::from_millis(500);
/// How long anything may.
const FLUSH_INTERVAL: Duration = Duration::from_secs(10);
/// Ended jobs that may wait.
const ENDED_MAX: usize = 20_000;
/// After a failure, as with a full disk.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) enum News {
    Durable {
        record: Arc<Record>,
        /// To be freed.
        forgotten: Vec<Arc<Record>>,
    },
    /// Records were left out: read them from the journal.
    Behind,
    /// Somebody wants to read what happened up to here.
    Wanted(Seq),
    Close,
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Store(#[from] rusqlite::Error),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

pub(super) struct Projector {
    pub(super) projection: Projection,
    pub(super) journal: Box<dyn Reader>,
    pub(super) news: Receiver<News>,
    /// Entries in the channel.
    pub(super) queued: Arc<AtomicUsize>,
    pub(super) written: watch::Sender<Seq>,
    pub(super) wanted: Seq,
}

impl Projector {
    pub(super) fn run(mut self) {
        let mut flushed = Instant::now();
        let mut wrote = Instant::now();
        loop {
            let behind = self.projection.position() > self.projection.complete();
            let asked = self.wanted > self.projection.complete()
                && self.wanted <= self.projection.position();
            if asked || self.projection.is_full() || (behind && flushed.elapsed() > FLUSH_INTERVAL)
            {
                let pace = if asked { Pace::Quick } else { Pace::Gentle };
                self.attempt(|projector| projector.flush(pace));
                (flushed, wrote) = (Instant::now(), Instant::now());
            } else if self.projection.ended() > ENDED_MAX
                || (self.projection.ended() > 0 && wrote.elapsed() > ENDED_INTERVAL)
            {
                self.attempt(Projector::flush_ended);
                wrote = Instant::now();
            }
            match self.next_news() {
                Ok(News::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(news) => self.hear(news),
            }
        }
        if let Err(trouble) = self.flush(Pace::Quick) {
            tracing::warn!(%trouble, "the registry catches up at the next start");
        }
    }

    fn next_news(&self) -> Result<News, RecvTimeoutError> {
        match self.news.try_recv() {
            Ok(news) => return Ok(news),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => {}
        }
        if self.wanted <= self.projection.complete() {
            priority::gather();
        }
        let idle = self.projection.position() == self.projection.complete();
        if idle {
            self.news.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            self.news.recv_timeout(ENDED_INTERVAL)
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Durable { record, forgotten } => {
                drop(forgotten);
                self.queued.fetch_sub(record.entries.len(), Ordering::Relaxed);
                if record.first() > self.projection.position().next() {
                    self.attempt(Projector::catch_up);
                }
                self.attempt(|projector| projector.project(&record.entries));
            }
            News::Behind => self.attempt(Projector::catch_up),
            News::Wanted(position) => {
                self.wanted = self.wanted.max(position);
                self.attempt(Projector::catch_up_if_idle);
            }
            News::Close => {}
        }
    }

    /// Does it until it succeeds: the journal keeps what the registry has not read.
    fn attempt(&mut self, work: impl Fn(&mut Projector) -> Result<(), Trouble>) {
        while let Err(trouble) = work(self) {
            tracing::warn!(%trouble, "the registry could not go on; it tries again");
            std::thread::sleep(RETRY_INTERVAL);
            if let Err(trouble) = self.start_over() {
                tracing::warn!(%trouble, "the registry could not start over");
            }
        }
    }

    fn project(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        entries.iter().try_for_each(|entry| self.projection.project(entry)).map_err(Trouble::from)
    }

    fn flush(&mut self, pace: Pace) -> Result<(), Trouble> {
        self.projection.flush(pace)?;
        self.written.send_replace(self.projection.complete());
        Ok(())
    }

    fn flush_ended(&mut self) -> Result<(), Trouble> {
        Ok(self.projection.flush_ended()?)
    }

    fn start_over(&mut self) -> Result<(), Trouble> {
        self.projection.rewind()?;
        self.catch_up()
    }

    /// A reader may want what was left out on the way, when nothing follows that would tell.
    fn catch_up_if_idle(&mut self) -> Result<(), Trouble> {
        let idle = self.queued.load(Ordering::Relaxed) == 0;
        if idle && self.wanted > self.projection.position() { self.catch_up() } else { Ok(()) }
    }

    /// Reads what the journal has and the registry has not.
    pub(super) fn catch_up_at_start(&mut self) {
        self.attempt(Projector::catch_up);
        self.attempt(|projector| projector.flush(Pace::Quick));
    }

    fn catch_up(&mut self) -> Result<(), Trouble> {
        match self.read_on() {
            Err(Trouble::Read(ReadError::Truncated { first })) => {
                self.import(first)?;
                self.read_on()
            }
            done => done,
        }
    }

    fn read_on(&mut self) -> Result<(), Trouble> {
        for record in self.journal.read(self.projection.position().next())? {
            for entry in &record?.entries {
                self.projection.project(entry)?;
            }
            if self.projection.is_full() {
                self.projection.flush(Pace::Quick)?;
                self.written.send_replace(self.projection.complete());
            } else if self.projection.ended() > ENDED_MAX {
                self.projection.flush_ended()?;
            }
        }
        Ok(())
    }

    /// The journal no longer has what is missing: the snapshot stands for it.
    fn import(&mut self, first: Seq) -> Result<(), Trouble> {
        let Some(snapshot) = self.journal.load_snapshot()? else {
            return Err(ReadError::Truncated { first }.into());
        };
        tracing::info!(position = %snapshot.head.seq, "the registry starts over from a snapshot");
        let engine = state::decode(&snapshot.bytes)?;
        self.projection.import(engine.state())?;
        Ok(())
    }
}
