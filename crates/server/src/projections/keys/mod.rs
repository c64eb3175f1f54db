//! Idempotency keys beyond those that the core remembers, on disk, until their time is over.
//!
//! The core knows the latest keys (`idempotency_max`). A thread of its own writes all of them into
//! sorted files, a run at a time, long before the core must let go of them; who submits looks there
//! first and hands in what was found, and how far the look reached. The core takes a key only if no
//! other leaves its memory that the files do not have, so no key is ever forgotten early: when the
//! files may not grow any more, submissions with keys are refused.
//!
//! Keys that the library makes by itself, to send a job again when an answer got lost, are worth
//! something for seconds: they are passed over here, and stand for their jobs as long as the core
//! remembers them.
//!
//! Deliberately absent: a position in the journal. What the files do not have yet is in the core's
//! memory, from which it is taken at a start.

mod filter;
mod run;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};

use bellwether_core::model::{JobNo, KeysSeen, Micros, Submission, Timestamp};
use bellwether_core::{Event, State};
use bellwether_journal::Record;

use self::run::{Run, Taken, Wanted, file_name, is_automatic, is_run};
use crate::priority::lower_priority;

/// The core can remember so many runs: one may be written while others are looked for in memory.
const RUNS_IN_MEMORY: u64 = 4;
const RUN_KEYS_MAX: u64 = 250_000;

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
}

impl Keys {
    /// What the files know of the keys of a submission.
    pub(crate) fn look(&self, submission: &Submission) -> Result<KeysSeen, KeysError> {
        let files = self.files();
        let mut found = Vec::new();
        for (index, job) in submission.jobs.iter().enumerate() {
            let key = job.idempotency_key.as_ref();
            let Some(key) = key.filter(|key| !files.runs.is_empty() && !is_automatic(key)) else {
                continue;
            };
            let wanted = Wanted::new(key);
            // A key that had its time may have been taken again: the latest holds.
            for run in files.runs.iter().rev() {
                if let Some(key) = run.find(&wanted)? {
                    found.push((index, key));
                    break;
                }
            }
        }
        Ok(KeysSeen { kept: files.kept, found })
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
        let has_keys = record.entries.iter().any(|entry| match &entry.event {
            Event::Submitted { jobs, .. } => {
                jobs.iter().any(|job| job.spec.idempotency_key.is_some())
            }
            Event::Configured { .. } => true,
            _ => false,
        });
        if has_keys {
            // A thread that has ended has said why, and the core notices that keys are not kept.
            drop(self.records.send(Arc::clone(record)));
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
    let after = runs.last().map_or(JobNo(0), |run| run.last);
    let mut writer = Writer {
        dir: dir.to_owned(),
        keys: keys.clone(),
        keys_max,
        run_keys: 0,
        expires_after: Micros::ZERO,
        after,
        waiting: Vec::new(),
        now: state.event_time(),
        runs,
    };
    writer.configure(state.config().idempotency_max, state.config().idempotency_for);
    let print = |job: JobNo| state.job(job).map_or(0, |job| job.spec.print());
    let unwritten = state.keys.iter().filter(|key| key.job > after);
    let taken = unwritten.map(|key| Taken::new(&key.name, print(key.job), key.job, key.at));
    writer.waiting.extend(taken);
    writer.show();
    let (records, inbox) = channel();
    std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        lower_priority();
        if let Err(error) = writer.run(&inbox) {
            tracing::error!(%error, "idempotency keys are kept in memory alone; when it is full, they are refused");
        }
    })?;
    Ok((keys, KeysFeed { records }))
}

/// The runs in their order, none missing.
fn open(dir: &Path) -> Result<Vec<Arc<Run>>, KeysError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        names.extend(name.to_str().filter(|name| is_run(name)).map(str::to_owned));
    }
    names.sort_unstable();
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for name in names {
        let path = dir.join(name);
        let run = Run::open(path.clone())?;
        if runs.last().is_some_and(|before| before.last != run.after) {
            return Err(KeysError::Missing { path });
        }
        runs.push(Arc::new(run));
    }
    Ok(runs)
}

struct Writer {
    dir: PathBuf,
    keys: Keys,
    keys_max: u64,
    run_keys: u64,
    expires_after: Micros,
    /// Keys of jobs up to this one are in runs, but for those that are passed over.
    after: JobNo,
    /// Those that are not yet.
    waiting: Vec<Taken>,
    /// The time of the latest event.
    now: Timestamp,
    runs: Vec<Arc<Run>>,
}

impl Writer {
    fn run(mut self, inbox: &Receiver<Arc<Record>>) -> Result<(), KeysError> {
        self.write()?;
        while let Ok(record) = inbox.recv() {
            for entry in &record.entries {
                self.now = entry.at;
                match &entry.event {
                    Event::Submitted { first, jobs, .. } => {
                        let numbers = (first.0..).map(JobNo);
                        for (job, no) in jobs.iter().zip(numbers) {
                            if let Some(key) = &job.spec.idempotency_key {
                                let print = job.spec.print();
                                self.waiting.push(Taken::new(key, print, no, entry.at));
                            }
                        }
                    }
                    Event::Configured { config, .. } => {
                        self.configure(config.idempotency_max, config.idempotency_for);
                    }
                    _ => {}
                }
            }
            self.write()?;
        }
        Ok(())
    }

    fn configure(&mut self, in_memory: u64, expires_after: Micros) {
        self.run_keys = (in_memory / RUNS_IN_MEMORY).clamp(1, RUN_KEYS_MAX);
        self.expires_after = expires_after;
    }

    /// Writes as many runs as there are keys for, and drops those that are over.
    fn write(&mut self) -> Result<(), KeysError> {
        while self.waiting.len() as u64 >= self.run_keys {
            self.drop_expired()?;
            let next = &self.waiting[..self.run_keys as usize];
            let seen = next.last().expect("a run has keys").job;
            let taken: Vec<Taken> = next.iter().filter(|key| !key.is_automatic).copied().collect();
            if let Some(newest) = taken.last() {
                let kept: u64 = self.runs.iter().map(|run| run.keys).sum();
                if kept + taken.len() as u64 > self.keys_max {
                    return Ok(());
                }
                let after = self.runs.last().map_or(self.after, |run| run.last);
                Run::write(&self.dir, after, &taken)?;
                let run = Run::open(self.dir.join(file_name(newest.job)))?;
                self.runs.push(Arc::new(run));
            }
            self.waiting.drain(..self.run_keys as usize);
            self.after = seen;
            self.show();
        }
        Ok(())
    }

    /// Those who submit find what is there now.
    fn show(&self) {
        self.keys.replace(Files { kept: self.after, runs: self.runs.clone() });
    }

    fn drop_expired(&mut self) -> Result<(), KeysError> {
        let is_over = |run: &Arc<Run>| self.now.since(run.newest) > self.expires_after;
        let over = self.runs.iter().take_while(|run| is_over(run)).count();
        if over == 0 {
            return Ok(());
        }
        let dropped: Vec<Arc<Run>> = self.runs.drain(..over).collect();
        self.show();
        // The oldest first: should this end in between, none is missing in the middle.
        dropped.iter().try_for_each(|run| run.remove()).map_err(KeysError::Io)
    }
}
