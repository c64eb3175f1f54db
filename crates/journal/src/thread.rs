//! A journal on a thread of its own, so that the loop goes on while the disk works.
//!
//! Batches that arrive during one append are joined into the next: one sync for all of them. After
//! the first failure nothing more is appended, because what follows stands on what failed;
//! [`JournalThread::stop`] then gives the journal back to rebuild the state from.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bellwether_core::Entry;
use bellwether_core::model::Seq;

use crate::chain::Head;
use crate::journal::{AppendError, Journal, TruncateError};

/// Entries that are joined into one record at most.
pub const RECORD_ENTRIES_MAX: usize = 200_000;

#[derive(Debug)]
pub struct JournalThread {
    work: SyncSender<Work>,
    thread: JoinHandle<Box<dyn Journal>>,
}

#[derive(Debug)]
enum Work {
    Append(Vec<Entry>),
    Truncate(Seq),
}

/// What the thread has to say.
#[derive(Debug)]
pub enum Outcome {
    Durable(Durable),
    /// Nothing from this batch on is appended, and nothing will be.
    Failed(AppendError),
    /// The journal kept more than was asked for; that is no reason to stop.
    NotTruncated(TruncateError),
}

/// One append that is done.
#[derive(Debug)]
pub struct Durable {
    pub head: Head,
    /// Back to the caller, who may want to project them.
    pub entries: Vec<Entry>,
    pub took: Duration,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    #[error("as many batches wait as may")]
    Busy(Vec<Entry>),
    #[error("the journal has stopped after a failure")]
    Stopped,
}

impl JournalThread {
    /// At most `waiting_max` batches wait while one is written. `tell` is called on the thread, in
    /// the order of the journal; it must not block for long.
    pub fn start(
        journal: Box<dyn Journal>,
        waiting_max: usize,
        tell: impl FnMut(Outcome) + Send + 'static,
    ) -> io::Result<JournalThread> {
        let (work, inbox) = sync_channel(waiting_max);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || run(journal, &inbox, tell))?;
        Ok(JournalThread { work, thread })
    }

    /// Hands in entries that follow those handed in before. Never waits.
    pub fn append(&self, entries: Vec<Entry>) -> Result<(), NotTaken> {
        self.work.try_send(Work::Append(entries)).map_err(|error| match error {
            TrySendError::Full(Work::Append(entries)) => NotTaken::Busy(entries),
            TrySendError::Full(Work::Truncate(_)) => NotTaken::Busy(Vec::new()),
            TrySendError::Disconnected(_) => NotTaken::Stopped,
        })
    }

    /// Forgets records before `seq`, for which a snapshot stands. Waits for its turn.
    pub fn truncate_before(&self, seq: Seq) -> Result<(), NotTaken> {
        self.work.send(Work::Truncate(seq)).map_err(|_| NotTaken::Stopped)
    }

    /// Finishes what waits and gives the journal back.
    ///
    /// # Panics
    /// If the thread has panicked.
    pub fn stop(self) -> Box<dyn Journal> {
        drop(self.work);
        self.thread.join().expect("the journal thread does not panic")
    }
}

fn run(
    mut journal: Box<dyn Journal>,
    inbox: &Receiver<Work>,
    mut tell: impl FnMut(Outcome),
) -> Box<dyn Journal> {
    let mut next = inbox.recv().ok();
    while let Some(work) = next.take() {
        match work {
            Work::Truncate(seq) => {
                if let Err(error) = journal.truncate_before(seq) {
                    tell(Outcome::NotTruncated(error));
                }
            }
            Work::Append(mut entries) => {
                next = gather(inbox, &mut entries);
                match append(journal.as_mut(), entries) {
                    Ok(durable) => tell(Outcome::Durable(durable)),
                    Err(error) => {
                        tell(Outcome::Failed(error));
                        break;
                    }
                }
            }
        }
        next = next.or_else(|| inbox.recv().ok());
    }
    journal
}

/// Joins what waits to the entries. Gives back what can't be joined.
fn gather(inbox: &Receiver<Work>, entries: &mut Vec<Entry>) -> Option<Work> {
    while entries.len() < RECORD_ENTRIES_MAX {
        match inbox.try_recv() {
            Ok(Work::Append(more)) => entries.extend(more),
            Ok(truncate @ Work::Truncate(_)) => return Some(truncate),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
        }
    }
    None
}

fn append(journal: &mut dyn Journal, entries: Vec<Entry>) -> Result<Durable, AppendError> {
    let start = Instant::now();
    let head = journal.append(journal.epoch(), journal.head().seq, &entries)?;
    Ok(Durable { head, entries, took: start.elapsed() })
}
