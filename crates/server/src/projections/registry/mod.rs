//! The registry: who ran what and when, searchable. A projection of the journal that can be deleted
//! and comes back; it never holds up the loop.

mod graph;
mod lead;
mod migrate;
mod partitions;
mod pending;
#[cfg(test)]
mod plans;
mod projection;
mod query;
mod rewind;
mod row;
mod runs;
mod schema;
mod search;
mod store;
mod stream;
mod tell;
#[cfg(test)]
mod tests;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bellwether_core::State;
use bellwether_core::model::{Actor, ActorNo, JobId, JobNo, Seq, Settlement};
use bellwether_journal::sqlite::LogCopier;
use bellwether_journal::{Head, Reader, Record};
use bellwether_wire::v1;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{Semaphore, oneshot, watch};

use crate::config::History;
pub(crate) use graph::{Graph, GraphNode};
use partitions::Retention;
use projection::Projection;
pub(crate) use query::{JobNames, NumberedIds, QueryError};
pub(crate) use runs::RunSummary;
pub(crate) use search::Counted;
pub(crate) use stream::{AttemptsWanted, PastAttempt, PastAttempts};
use thread::{Look, News, Projector};

pub(crate) const FILE: &str = "registry.sqlite";
pub(crate) use schema::BUSY_TIMEOUT;
/// Entries that may wait for the registry; beyond, it reads the journal instead.
const ENTRIES_QUEUED_MAX: usize = 100_000;
/// Events that it may be behind; beyond, the status says so. Some seconds at the highest rate.
const LAG_EVENTS_MAX: u64 = 1_000_000;
/// How long a reader waits for the registry to reach the position it named.
pub(crate) const REACH_WITHIN: Duration = Duration::from_secs(10);
/// Readers at a time, and their connections, which are kept: each has pages and statements of its own in
/// memory, so a moment in which many ask must not leave more of them behind.
const READERS_MAX: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("the disk is full: the registry {} could not be opened; free some space and start again", path.display())]
    DiskFull { path: PathBuf },
    #[error("the registry {} could not be opened: {source}; it may be deleted, it is made anew from the journal", path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("failed to start the registry's thread: {0}")]
    Thread(#[from] std::io::Error),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("the registry has not reached position {0} in time; try again")]
    Behind(Seq),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("the registry stopped")]
    Stopped,
}

/// For those who read.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    path: Arc<Path>,
    news: Sender<News>,
    projector: std::thread::Thread,
    written: watch::Receiver<Seq>,
    turns: Arc<Semaphore>,
    // Held only to take a connection or put one back.
    readers: Arc<Mutex<Vec<Connection>>>,
}

/// For the loop, which feeds it.
#[derive(Debug)]
pub(crate) struct Feed {
    news: Sender<News>,
    queued: Arc<AtomicUsize>,
    written: watch::Receiver<Seq>,
    thread: std::thread::JoinHandle<()>,
    behind: bool,
}

/// Opens the registry and lets it catch up on a thread of its own.
pub(crate) fn start(
    data_dir: &Path,
    journal: Box<dyn Reader>,
    head: Head,
    history: History,
) -> Result<(Registry, Feed), RegistryError> {
    let path = data_dir.join(FILE);
    let failed = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => RegistryError::DiskFull { path: path.clone() },
        _ => RegistryError::Open { path: path.clone(), source },
    };
    let retention = Retention { jobs_max: history.jobs_max, keep_for: history.keep_for };
    let connection = schema::open(&path, retention).map_err(failed)?;
    if store::position(&connection).map_err(failed)?.reached > head.seq {
        // An older journal was put back: what came after it has not happened.
        schema::create(&connection).map_err(failed)?;
    }
    let beside = schema::open_beside(&path).map_err(failed)?;
    let log = LogCopier::start("registry-log", beside, crate::priority::lower_priority)?;
    let projection = Projection::open(connection, log, retention).map_err(failed)?;
    let (news, inbox) = channel();
    let queued = Arc::new(AtomicUsize::new(0));
    let (written, reached) = watch::channel(Seq(0));
    let mut projector = Projector {
        projection,
        journal,
        news: inbox,
        queued: queued.clone(),
        written,
        wanted: Seq(0),
        looks: Vec::new(),
        behind: None,
        waiting: Seq(0),
        waited: Seq(0),
    };
    let thread = std::thread::Builder::new().name("registry".to_owned()).spawn(move || {
        crate::priority::lower_priority();
        projector.catch_up_at_start();
        projector.run();
    })?;
    let registry = Registry {
        path: path.into(),
        news: news.clone(),
        projector: thread.thread().clone(),
        written: reached.clone(),
        turns: Arc::new(Semaphore::new(READERS_MAX)),
        readers: Arc::default(),
    };
    Ok((registry, Feed { news, queued, written: reached, thread, behind: false }))
}

/// Lets a registry that was copied into a directory forget what has not happened by this position. One
/// that lags behind it is left to catch up.
pub(crate) fn put_back(data_dir: &Path, state: &State, head: Seq) -> Result<(), RegistryError> {
    let path = data_dir.join(FILE);
    if !path.exists() {
        return Ok(());
    }
    // What is over is forgotten by the scheduler that opens it.
    let retention = Retention { jobs_max: u64::MAX, keep_for: Duration::MAX };
    let rewound = schema::open(&path, retention).and_then(|connection| {
        if store::position(&connection)?.reached > head {
            rewind::rewind(&connection, retention, state, head)?;
        }
        connection.close().map_err(|(_, error)| error)
    });
    rewound.map_err(|source| RegistryError::Open { path, source })
}

impl Feed {
    /// Never waits: if the registry is behind, it reads the journal itself. What is forgotten is
    /// freed on its thread.
    pub(crate) fn push(&mut self, record: Arc<Record>, forgotten: Vec<Arc<Record>>) {
        let queued = self.queued.load(Ordering::Relaxed);
        let entries = record.entries.len();
        if queued > 0 && queued + entries > ENTRIES_QUEUED_MAX {
            if !std::mem::replace(&mut self.behind, true) {
                self.send(News::Behind);
            }
            return;
        }
        self.behind = false;
        self.queued.fetch_add(entries, Ordering::Relaxed);
        self.send(News::Durable { record, forgotten });
    }

    /// How far the registry has written; the journal must keep what lies behind.
    pub(crate) fn position(&self) -> Seq {
        *self.written.borrow()
    }

    pub(crate) fn watch_position(&self) -> watch::Receiver<Seq> {
        self.written.clone()
    }

    /// Writes what there is.
    pub(crate) fn close(self) {
        self.send(News::Close);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the registry's thread panicked; it is made anew at the next start");
        }
    }

    fn send(&self, news: News) {
        if self.news.send(news).is_err() {
            tracing::error!("the registry has stopped");
        }
    }
}

impl Registry {
    /// How many events it is behind, if that is more than it should ever be.
    pub(crate) fn lag_events(&self, durable: Seq) -> Option<u64> {
        let lag = durable.0.saturating_sub(self.written.borrow().0);
        (lag > LAG_EVENTS_MAX).then_some(lag)
    }

    /// How many events it is behind; some are always, because jobs are best written once.
    pub(crate) fn behind(&self, durable: Seq) -> u64 {
        durable.0.saturating_sub(self.written.borrow().0)
    }

    /// Waits until everything up to here can be read.
    pub(crate) async fn reach(&self, position: Seq) -> Result<(), LookupError> {
        self.reach_within(position, REACH_WITHIN).await
    }

    pub(crate) async fn reach_within(
        &self,
        position: Seq,
        patience: Duration,
    ) -> Result<(), LookupError> {
        let mut written = self.written.clone();
        if *written.borrow() >= position {
            return Ok(());
        }
        self.news.send(News::Wanted(position)).map_err(|_| LookupError::Stopped)?;
        self.projector.unpark();
        let reached = written.wait_for(|seq| *seq >= position);
        match tokio::time::timeout(patience, reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(LookupError::Stopped),
            Err(_) => Err(LookupError::Behind(position)),
        }
    }

    /// A job with all that has happened up to this position, or more. It need not be written for that,
    /// so whoever asks for one job does not wait until all the others are.
    pub(crate) async fn look(
        &self,
        job: JobNo,
        position: Seq,
        patience: Duration,
    ) -> Result<Option<v1::Job>, LookupError> {
        let (answer, answered) = oneshot::channel();
        let look = Look { job, position, answer };
        self.news.send(News::Look(look)).map_err(|_| LookupError::Stopped)?;
        self.projector.unpark();
        match tokio::time::timeout(patience, answered).await {
            Ok(Ok(found)) => Ok(found?),
            Ok(Err(_)) => Err(LookupError::Stopped),
            Err(_) => Err(LookupError::Behind(position)),
        }
    }

    pub(crate) async fn job(&self, id: String) -> Result<Option<v1::Job>, LookupError> {
        self.read(move |connection| query::job(connection, &id)).await
    }

    pub(crate) async fn search(
        &self,
        wanted: v1::ListJobsRequest,
    ) -> Result<v1::ListJobsResponse, LookupError> {
        self.read(move |connection| search::search(connection, &wanted)).await
    }

    /// How many jobs there are of a kind, by a look at each, and the number of the newest of all.
    pub(crate) async fn count(
        &self,
        wanted: v1::ListJobsRequest,
    ) -> Result<(u64, u64), LookupError> {
        self.read(move |connection| query::count(connection, &wanted)).await
    }

    /// The same by its indexes, and no further than anybody would count.
    pub(crate) async fn count_up(
        &self,
        wanted: v1::ListJobsRequest,
    ) -> Result<Counted, LookupError> {
        self.read(move |connection| search::count(connection, &wanted)).await
    }

    /// None if there is no such run.
    pub(crate) async fn graph(&self, run: String) -> Result<Option<Graph>, LookupError> {
        self.read(move |connection| graph::graph(connection, &run)).await
    }

    pub(crate) async fn attempts(
        &self,
        wanted: AttemptsWanted,
    ) -> Result<PastAttempts, LookupError> {
        self.read(move |connection| stream::attempts(connection, &wanted)).await
    }

    /// Oldest first, those behind one job and up to another.
    pub(crate) async fn ids_between(
        &self,
        wanted: v1::ListJobsRequest,
        behind: u64,
        last: u64,
        limit: usize,
    ) -> Result<NumberedIds, LookupError> {
        self.read(move |connection| query::ids_between(connection, &wanted, behind, last, limit))
            .await
    }

    /// Newest first, those that begin before this job.
    pub(crate) async fn runs(
        &self,
        before: u64,
        limit: usize,
    ) -> Result<Vec<RunSummary>, LookupError> {
        self.read(move |connection| runs::runs(connection, before, limit)).await
    }

    pub(crate) async fn run(&self, id: String) -> Result<Option<RunSummary>, LookupError> {
        self.read(move |connection| runs::run(connection, &id)).await
    }

    pub(crate) async fn settlements(
        &self,
        ids: Vec<JobId>,
    ) -> Result<Vec<(JobId, Settlement)>, LookupError> {
        self.read(move |connection| query::settlements(connection, &ids)).await
    }

    pub(crate) async fn ended_counts(&self) -> Result<Vec<v1::StateCount>, LookupError> {
        self.read(query::ended_counts).await
    }

    /// The names that these numbers stand for; empty for what is forgotten.
    pub(crate) async fn names(
        &self,
        jobs: Vec<JobNo>,
        workers: Vec<u32>,
    ) -> Result<(Vec<JobNames>, Vec<String>), LookupError> {
        self.read(move |connection| {
            let jobs = jobs.iter().map(|no| query::job_names(connection, *no));
            let jobs = jobs.collect::<Result<_, _>>()?;
            let workers = workers.iter().map(|no| query::worker_name(connection, *no));
            Ok((jobs, workers.collect::<Result<_, _>>()?))
        })
        .await
    }

    /// Who these numbers stand for.
    pub(crate) async fn actors(
        &self,
        numbers: Vec<ActorNo>,
    ) -> Result<Vec<Option<Actor>>, LookupError> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        self.read(move |connection| {
            numbers.iter().map(|number| query::actor(connection, *number)).collect()
        })
        .await
    }

    async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, LookupError> {
        let registry = self.clone();
        let turns = Arc::clone(&self.turns);
        let turn = turns.acquire_owned().await.map_err(|_| LookupError::Stopped)?;
        let answer = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let kept = registry.lock().pop();
            let connection = match kept {
                Some(connection) => connection,
                None => schema::open_for_reading(&registry.path)?,
            };
            let answer = question(&connection);
            registry.lock().push(connection);
            answer
        });
        Ok(answer.await.map_err(|_| LookupError::Stopped)??)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
