//! The one thread that writes, so that nothing waits for the disk but what needs it.

use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::applied::Mark;
use super::schema::{Database, Row, StoreError};
use crate::raft::types::{LogId, Records, Vote};

#[derive(Debug)]
pub(super) struct Writer {
    /// None only while it is dropped.
    work: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
    busy: Busy,
}

/// Since when the disk works on something. The thread that writes says so, and the driver, which never
/// waits for the disk, looks.
type Busy = Arc<Mutex<Option<Instant>>>;

pub(super) enum Work {
    Append {
        rows: Vec<Row>,
        done: Done,
    },
    Change {
        change: Change,
        done: Done,
    },
    /// Written with whatever is written next: it may be lost.
    Committed(LogId),
}

pub(super) enum Change {
    Vote(Vote),
    TruncateFrom(u64),
    /// What lies before this is forgotten, and the log begins here.
    ForgetUpTo(u64, Mark),
    /// A snapshot is about to replace what is here.
    Installing(Mark),
    /// It has.
    Installed(Mark),
}

pub(super) enum Done {
    Told(oneshot::Sender<io::Result<()>>),
    Flushed(openraft::storage::LogFlushed<Records>),
}

impl Done {
    fn tell(self, result: io::Result<()>) {
        match self {
            // Nobody waits any more when the log is being closed.
            Done::Told(sender) => drop(sender.send(result)),
            Done::Flushed(callback) => callback.log_io_completed(result),
        }
    }
}

impl Writer {
    /// Entries up to `forgotten` count no more, and may still be there.
    pub(super) fn start(database: Database, forgotten: Option<u64>) -> io::Result<Writer> {
        let (work, inbox) = channel();
        let busy = Busy::default();
        let shared = Arc::clone(&busy);
        let thread = std::thread::Builder::new()
            .name("raft-log".to_owned())
            .spawn(move || run(&database, &inbox, &shared, forgotten))?;
        Ok(Writer { work: Some(work), thread: Some(thread), busy })
    }

    pub(super) fn send(&self, work: Work) -> io::Result<()> {
        let sender = self.work.as_ref().ok_or_else(|| io::Error::other("the log is closed"))?;
        sender.send(work).map_err(|_| io::Error::other("the log has stopped after a failure"))
    }

    /// Durable when it returns.
    pub(super) async fn change(&self, change: Change) -> io::Result<()> {
        let (sender, done) = oneshot::channel();
        self.send(Work::Change { change, done: Done::Told(sender) })?;
        done.await.map_err(io::Error::other)?
    }

    pub(super) fn stuck_for(&self) -> Duration {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(thread) = self.thread.take() {
            // The directory may be given to another only once nobody writes here any more.
            thread.join().expect("the thread of the log does not panic");
        }
    }
}

fn run(database: &Database, inbox: &Receiver<Work>, busy: &Busy, forgotten: Option<u64>) {
    let mut disk = Disk { database, committed: None, forgetting: forgotten };
    let mark_busy = |since| *busy.lock().unwrap_or_else(PoisonError::into_inner) = since;
    while let Some(work) = disk.next(inbox) {
        mark_busy(Some(Instant::now()));
        let (result, done) = match work {
            Work::Committed(log_id) => {
                disk.committed = Some(log_id);
                mark_busy(None);
                continue;
            }
            Work::Append { rows, done } => (disk.append(&rows), done),
            Work::Change { change, done } => (disk.make(change), done),
        };
        mark_busy(None);
        let failed = result.is_err();
        done.tell(result.map_err(super::other));
        if failed {
            // After one failure nothing that the disk says of this file can be trusted.
            return;
        }
    }
    if let Some(committed) = disk.committed {
        // An orderly end; if it fails, whoever leads tells again what is committed.
        drop(database.write_committed(&committed));
    }
}

struct Disk<'a> {
    database: &'a Database,
    /// Not written yet.
    committed: Option<LogId>,
    /// Up to here entries are on their way out. The base says so already, so they count for nothing.
    forgetting: Option<u64>,
}

impl Disk<'_> {
    /// The next thing to do; meanwhile what is to be forgotten is, a little at a time.
    fn next(&mut self, inbox: &Receiver<Work>) -> Option<Work> {
        while self.forgetting.is_some() {
            match inbox.try_recv() {
                Ok(work) => return Some(work),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    let forgotten = self.database.transaction(|_| self.forget_some());
                    if let Err(error) = forgotten {
                        // The next append fails as well, and says so to somebody who waits for it.
                        tracing::warn!(%error, "the log keeps more than it needs to");
                        self.forgetting = None;
                    }
                }
            }
        }
        inbox.recv().ok()
    }

    fn forget_some(&mut self) -> Result<(), StoreError> {
        if let Some(index) = self.forgetting
            && self.database.forget_some_up_to(index)?
        {
            self.forgetting = None;
        }
        Ok(())
    }

    fn append(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let committed = self.committed.take();
        self.database.transaction(|database| {
            database.append(rows)?;
            // With the sync that is needed anyway.
            self.forget_some()?;
            committed.map_or(Ok(()), |committed| database.write_committed(&committed))
        })
    }

    fn make(&mut self, change: Change) -> Result<(), StoreError> {
        self.database.transaction(|database| match change {
            Change::Vote(vote) => database.write_vote(&vote),
            Change::TruncateFrom(index) => database.truncate_from(index),
            Change::ForgetUpTo(index, base) => {
                database.write_base(&base)?;
                self.forgetting = Some(index);
                Ok(())
            }
            Change::Installing(mark) => database.write_installing(Some(&mark)),
            Change::Installed(mark) => {
                database.write_base(&mark)?;
                database.write_installing(None)
            }
        })
    }
}
