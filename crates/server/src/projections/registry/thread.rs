//! The registry's own thread: it takes durable entries, or reads them from the journal when it has
//! fallen behind, and writes them in batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use bellwether_core::Entry;
use bellwether_core::model::{JobNo, Seq};
use bellwether_journal::{ReadError, Reader, Record, SnapshotError, state};
use bellwether_wire::v1;
use tokio::sync::{oneshot, watch};

use super::projection::{Pace, Projection};
use super::query::QueryError;
use crate::priority;

/// How long a job that has ended may wait to be written; twice as long any other.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);
/// How long it may take until it is written down that nothing has happened to any job.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);
/// Ended jobs that may wait: whoever asks waits for them to be written, about ten milliseconds for a
/// thousand.
const DUE_MAX: usize = 1_500;
/// It has caught up when it could keep up for so long.
const CAUGHT_UP_AFTER: Duration = Duration::from_secs(10);
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
    /// Somebody wants to know of one job.
    Look(Look),
    Close,
}

#[derive(Debug)]
pub(crate) struct Look {
    pub(super) job: JobNo,
    /// Everything up to here must be in the answer.
    pub(super) position: Seq,
    pub(super) answer: oneshot::Sender<Result<Option<v1::Job>, QueryError>>,
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
    /// Those who wait for what has not come yet.
    pub(super) looks: Vec<Look>,
    /// When it last could not keep up.
    pub(super) behind: Option<Instant>,
    /// The position at the last interval, and at the one before.
    pub(super) waiting: Seq,
    pub(super) waited: Seq,
}

impl Projector {
    pub(super) fn run(mut self) {
        let mut wrote = Instant::now();
        loop {
            if let Some((up_to, pace)) = self.next_write(wrote.elapsed()) {
                self.attempt(|projector| projector.write(up_to, pace));
                if wrote.elapsed() > WRITE_INTERVAL {
                    self.waited = std::mem::replace(&mut self.waiting, self.projection.position());
                    wrote = Instant::now();
                }
            }
            match self.next_news() {
                Ok(News::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(news) => self.hear(news),
            }
            self.answer_looks();
        }
        if let Err(trouble) = self.write(self.projection.position(), Pace::Quick) {
            tracing::warn!(%trouble, "the registry catches up at the next start");
        }
    }

    /// Up to where it is time to write all that has happened, and at which pace; jobs that have ended
    /// are written with it.
    fn next_write(&self, since_last: Duration) -> Option<(Seq, Pace)> {
        let (position, complete) = (self.projection.position(), self.projection.complete());
        let pending = self.projection.pending();
        if self.wanted > complete && self.wanted <= position {
            return Some((position, Pace::Quick));
        }
        if pending.is_full() {
            return Some((position, Pace::Gentle));
        }
        let interval = if pending.is_empty() { IDLE_INTERVAL } else { WRITE_INTERVAL };
        let is_time = position > complete && since_last > interval;
        (is_time || pending.due() > DUE_MAX).then_some((self.waited, Pace::Gentle))
    }

    fn next_news(&mut self) -> Result<News, RecvTimeoutError> {
        match self.news.try_recv() {
            Ok(news) => return Ok(news),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => self.caught_up(),
        }
        if self.wanted <= self.projection.complete() && self.looks.is_empty() {
            priority::gather();
        }
        let idle = self.projection.position() == self.projection.complete();
        if idle {
            self.news.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            self.news.recv_timeout(WRITE_INTERVAL)
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
                self.attempt(|projector| projector.tell(&record.entries));
            }
            News::Behind => {
                if self.behind.replace(Instant::now()).is_none() {
                    tracing::warn!("the history can't keep up; the journal is kept until it has");
                }
                self.attempt(Projector::catch_up);
            }
            News::Wanted(position) => {
                self.wanted = self.wanted.max(position);
                self.attempt(Projector::catch_up_if_idle);
            }
            News::Look(look) => {
                self.looks.push(look);
                self.attempt(Projector::catch_up_if_idle);
            }
            News::Close => {}
        }
    }

    fn answer_looks(&mut self) {
        let position = self.projection.position();
        for look in self.looks.extract_if(.., |look| look.position <= position) {
            // Whoever asked may have gone.
            drop(look.answer.send(self.projection.look(look.job)));
        }
    }

    fn caught_up(&mut self) {
        if self.behind.is_some_and(|last| last.elapsed() > CAUGHT_UP_AFTER) {
            self.behind = None;
            tracing::info!("the history has caught up");
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

    fn tell(&self, entries: &[Entry]) -> Result<(), Trouble> {
        entries.iter().try_for_each(|entry| self.projection.tell(entry)).map_err(Trouble::from)
    }

    fn write(&mut self, up_to: Seq, pace: Pace) -> Result<(), Trouble> {
        self.projection.write(up_to, pace)?;
        self.written.send_replace(self.projection.complete());
        Ok(())
    }

    fn start_over(&mut self) -> Result<(), Trouble> {
        self.projection.rewind()?;
        self.catch_up()
    }

    /// A reader may want what was left out on the way, when nothing follows that would tell.
    fn catch_up_if_idle(&mut self) -> Result<(), Trouble> {
        let idle = self.queued.load(Ordering::Relaxed) == 0;
        let looked_for = self.looks.iter().map(|look| look.position).max();
        let wanted = looked_for.map_or(self.wanted, |position| position.max(self.wanted));
        if idle && wanted > self.projection.position() { self.catch_up() } else { Ok(()) }
    }

    /// Reads what the journal has and the registry has not.
    pub(super) fn catch_up_at_start(&mut self) {
        self.attempt(Projector::catch_up);
        self.attempt(|projector| projector.write(projector.projection.position(), Pace::Quick));
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
            let pending = self.projection.pending();
            let (full, due) = (pending.is_full(), pending.due() > DUE_MAX);
            if full || due {
                let (position, complete) = (self.projection.position(), self.projection.complete());
                self.projection.write(if full { position } else { complete }, Pace::Quick)?;
                self.written.send_replace(self.projection.complete());
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
