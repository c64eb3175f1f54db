//! Idempotency keys and given ids beyond those that the core remembers, on disk, until their time is over.
//!
//! The core knows the latest keys (`idempotency_max`). A thread of its own writes all of them into
//! sorted files, a run at a time, long before the core must let go of them, and makes few large runs of
//! many small ones; who submits looks there first and hands in what was found, and how far the look
//! reached. The core takes a key only if no other leaves its memory that the files do not have, so no
//! key is ever forgotten early: when the files may not grow any more, submissions with keys are refused.
//!
//! Keys that the library makes by itself, to send a job again when an answer got lost, are worth
//! something for seconds: they are passed over here, and stand for their jobs as long as the core
//! remembers them. Ids that the scheduler makes are nobody else's, and are passed over, too.
//!
//! Deliberately absent: a position in the journal. What the files do not have yet is in the core's
//! memory, from which it is taken at a start.

mod ages;
mod entry;
mod filter;
mod former;
mod layout;
mod merge;
mod pages;
mod run;
mod run_writer;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use bellwether_core::model::{
    JobNo, KeyFound, KeysSeen, Micros, Submission, Timestamp, is_made_by_scheduler,
};
use bellwether_core::{Event, State};
use bellwether_journal::Record;

use self::entry::{Start, is_automatic};
use self::run::{Known, Run, is_run};
use self::writer::Writer;

#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(
        "{} is damaged. Restore the data directory from a backup; or remove all files keys-*.run, and \
         keys that were taken before may make second jobs",
        path.display()
    )]
    Damaged { path: PathBuf },
    #[error(
        "the file of idempotency keys before {} is missing. Restore the data directory from a backup; or \
         remove all files keys-*.run, and keys that were taken before may make second jobs",
        path.display()
    )]
    Missing { path: PathBuf },
    #[error("idempotency keys could not be read or written: {0}")]
    Io(#[from] io::Error),
}

/// Where those who submit look for keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    // The thread replaces all of it at once; the lock is held to copy the reference to it.
    files: Arc<RwLock<Arc<Files>>>,
    /// The time of the latest event, and how long keys stand.
    clock: Arc<(AtomicU64, AtomicU64)>,
}

#[derive(Debug, Default)]
struct Files {
    /// Keys of jobs up to this one are in runs, have had their time, or are passed over.
    kept: JobNo,
    /// The oldest first.
    runs: Vec<Arc<Run>>,
}

/// The loop's way to the thread.
#[derive(Debug)]
pub(crate) struct KeysFeed {
    // What waits in it is bounded by what may wait for the registry, which is given the same records.
    records: Sender<Arc<Record>>,
    thread: JoinHandle<()>,
}

impl Keys {
    /// What the files know of the keys and ids of a submission.
    pub(crate) fn look(&self, submission: &Submission) -> Result<KeysSeen, KeysError> {
        let files = self.files();
        let mut seen = KeysSeen { kept: files.kept, ..KeysSeen::default() };
        if files.runs.is_empty() {
            return Ok(seen);
        }
        for (index, job) in submission.jobs.iter().enumerate() {
            if let Some(key) = job.idempotency_key.as_ref().filter(|key| !is_automatic(key))
                && let Some(Known { job, print, .. }) = self.find(&files, Start::of_key(key))?
            {
                seen.found.push((index, KeyFound { job, print }));
            }
            if !is_made_by_scheduler(&job.id)
                && let Some(known) = self.find(&files, Start::of_id(&job.id))?
            {
                seen.ids.push((index, known.job));
            }
        }
        Ok(seen)
    }

    fn find(&self, files: &Files, start: Start) -> Result<Option<Known>, KeysError> {
        // A key that had its time may have been taken again: the latest holds.
        for run in files.runs.iter().rev() {
            if let Some(known) = run.find(start)? {
                return Ok(Some(known).filter(|known| !self.is_over(known.at)));
            }
        }
        Ok(None)
    }

    fn is_over(&self, at: Timestamp) -> bool {
        let (now, expires_after) = &*self.clock;
        let now = Timestamp(now.load(Ordering::Relaxed));
        now.since(at) > Micros(expires_after.load(Ordering::Relaxed))
    }

    fn set_now(&self, now: Timestamp) {
        self.clock.0.store(now.0, Ordering::Relaxed);
    }

    fn set_expires_after(&self, expires_after: Micros) {
        self.clock.1.store(expires_after.0, Ordering::Relaxed);
    }

    fn files(&self) -> Arc<Files> {
        Arc::clone(&self.files.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, files: Files) {
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(files);
    }
}

impl KeysFeed {
    pub(crate) fn push(&self, record: &Arc<Record>) {
        let concerns = record
            .entries
            .iter()
            .any(|entry| matches!(entry.event, Event::Submitted { .. } | Event::Configured { .. }));
        if concerns {
            // A thread that has ended has said why, and the core notices that keys are not kept.
            drop(self.records.send(Arc::clone(record)));
        }
    }

    /// Nothing is written after this.
    pub(crate) fn close(self) {
        drop(self.records);
        if self.thread.join().is_err() {
            tracing::error!("the thread of idempotency keys panicked; they are in the journal");
        }
    }
}

/// Opens what is there, and takes over what the core remembers. At most `keys_max` keys are kept.
pub(crate) fn start(
    dir: &Path,
    keys_max: u64,
    state: &State,
) -> Result<(Keys, KeysFeed), KeysError> {
    let keys = Keys::default();
    let runs = open(dir)?;
    keys.set_now(state.event_time());
    let writer = Writer::new(dir.to_owned(), keys.clone(), keys_max, runs, state);
    let (records, inbox) = channel();
    let thread = std::thread::Builder::new().name("keys".to_owned());
    let thread = thread.spawn(move || writer.run(&inbox))?;
    Ok((keys, KeysFeed { records, thread }))
}

/// The last job whose key a file has, by the file's name; none if it is no file of keys.
pub(crate) fn last_job(file: &str) -> Option<JobNo> {
    file.strip_prefix("keys-")?.strip_suffix(".run")?.parse().ok().map(JobNo)
}

/// The runs in their order, none missing.
fn open(dir: &Path) -> Result<Vec<Arc<Run>>, KeysError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with("keys")) else { continue };
        if is_run(name) {
            names.push(name.to_owned());
        } else if name.ends_with(".unfinished") {
            std::fs::remove_file(dir.join(name))?;
        }
    }
    names.sort_unstable();
    // The newest first, because one that others were merged into begins where the oldest of them did.
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for name in names.into_iter().rev() {
        let path = dir.join(name);
        let run = match former::renew(dir, &path)? {
            Some(run) => run,
            None => Run::open(path)?,
        };
        match runs.last() {
            Some(next) if run.after >= next.after => run.remove()?,
            Some(next) if run.last != next.after => {
                return Err(KeysError::Missing { path: next.path().to_owned() });
            }
            _ => runs.push(Arc::new(run)),
        }
    }
    runs.reverse();
    Ok(runs)
}
