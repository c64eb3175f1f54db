//! What jobs print, beside the history: bounded for each attempt and in total, in a file of its own
//! that can be deleted. It is no part of the journal, and nothing waits for it: what can't be kept is
//! cut, and the positions of what follows tell how much that was.

mod store;
#[cfg(test)]
mod tests;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use bellwether_core::model::{Seq, WorkerId};
use bellwether_wire::v1;
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::config::LogLimits;
pub(crate) use store::{Ends, Kept};
use thread::{Work, Writer};

const FOLDER: &str = "logs";
const FILE: &str = "output.sqlite";
/// Of the file, in the data directory.
pub(crate) const PATH: &str = "logs/output.sqlite";
/// Bytes that may wait to be written; beyond, output is cut.
const QUEUED_BYTES_MAX: usize = 32 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LogsError {
    #[error("the output of jobs can't be read: {0}")]
    Store(#[from] rusqlite::Error),
    #[error("the output of jobs is not kept any more, because its thread has ended")]
    Stopped,
}

/// For those who bring output, and for those who read it.
#[derive(Debug, Clone)]
pub(crate) struct Logs {
    limits: LogLimits,
    work: Sender<Work>,
    writer: std::thread::Thread,
    queued_bytes: Arc<AtomicUsize>,
    written: watch::Receiver<u64>,
    path: Arc<Path>,
}

/// How much of what a session has brought is kept, or cut for good.
#[derive(Debug, Clone)]
pub(crate) struct Receipt(Arc<watch::Sender<u64>>);

impl Receipt {
    pub(crate) fn new() -> (Receipt, watch::Receiver<u64>) {
        let (sender, receiver) = watch::channel(0);
        (Receipt(Arc::new(sender)), receiver)
    }

    pub(crate) fn done(&self, number: u64) {
        self.0.send_if_modified(|done| {
            let later = number > *done;
            *done = number.max(*done);
            later
        });
    }
}

impl Logs {
    /// `head` is where the journal ends: what was printed in a later past has not happened.
    pub(crate) fn start(data_dir: &Path, limits: LogLimits, head: Seq) -> std::io::Result<Logs> {
        let path: Arc<Path> = data_dir.join(FOLDER).join(FILE).into();
        let (work, inbox) = channel();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let (version, written) = watch::channel(0);
        let writer = Writer {
            path: PathBuf::from(&*path),
            limits,
            head,
            inbox,
            queued_bytes: queued_bytes.clone(),
            version,
            store: None,
            troubled: false,
        };
        let thread = std::thread::Builder::new().name("logs".to_owned()).spawn(|| writer.run())?;
        let writer = thread.thread().clone();
        Ok(Logs { limits, work, writer, queued_bytes, written, path })
    }

    /// Bytes that are kept of an attempt.
    pub(crate) fn attempt_bytes_max(&self) -> u64 {
        self.limits.attempt_bytes_max
    }

    /// Never waits. The receipt tells once chunks up to `number` are settled.
    pub(crate) fn keep(
        &self,
        worker: &WorkerId,
        chunks: Vec<v1::LogChunk>,
        number: u64,
        receipt: &Receipt,
    ) {
        let bytes: usize =
            chunks.iter().map(|chunk| chunk.data.len() + size_of::<v1::LogChunk>()).sum();
        let unwanted = self.limits.attempt_bytes_max == 0;
        if unwanted || self.queued_bytes.load(Ordering::Relaxed) + bytes > QUEUED_BYTES_MAX {
            return receipt.done(number);
        }
        self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (worker, receipt) = (worker.clone(), receipt.clone());
        let work = Work::Keep { worker, chunks, bytes, number, receipt };
        if self.work.send(work).is_err() {
            tracing::error!("the output of jobs is not kept any more");
        }
    }

    /// Returns once all that was brought before is written.
    pub(crate) async fn settle(&self) -> Result<(), LogsError> {
        let (reply, settled) = oneshot::channel();
        self.work.send(Work::Settle(reply)).map_err(|_| LogsError::Stopped)?;
        self.writer.unpark();
        settled.await.map_err(|_| LogsError::Stopped)
    }

    /// Changes whenever something was written.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.written.clone()
    }

    /// What was printed by a job behind a cursor, in the order in which it came.
    pub(crate) async fn read(&self, job: u64, after: u64) -> Result<Vec<Kept>, LogsError> {
        self.look(move |connection| store::read(connection, job, after)).await
    }

    /// Where the output of each attempt ends up to a cursor.
    pub(crate) async fn ends(&self, job: u64, up_to: u64) -> Result<Ends, LogsError> {
        self.look(move |connection| store::ends(connection, job, up_to)).await
    }

    async fn look<T: Default + Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, LogsError> {
        let path = self.path.clone();
        let answer = tokio::task::spawn_blocking(move || {
            // Nobody has printed anything yet.
            if !path.exists() {
                return Ok(T::default());
            }
            question(&store::open_for_reading(&path)?)
        });
        Ok(answer.await.map_err(|_| LogsError::Stopped)??)
    }
}
