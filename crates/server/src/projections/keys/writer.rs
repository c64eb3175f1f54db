//! The thread that writes keys and ids into runs, merges them, and lets go of those that had their time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bellwether_core::model::{
    AcceptedJob, JobId, JobNo, Micros, Name, Timestamp, is_made_by_scheduler,
};
use bellwether_core::{Event, State};
use bellwether_journal::Record;

use super::entry::{Start, Taken, is_automatic};
use super::merge::{self, Merge};
use super::run::Run;
use super::{Files, Keys, KeysError, run_writer};
use crate::priority::lower_priority;

/// Of what the core can remember of either a run has this part: several may be waited for before any is
/// forgotten.
const RUNS_IN_MEMORY: u64 = 16;
const RUN_KEYS_MAX: u64 = 62_500;
/// A merge of so many is done between two runs, in some tenths of a second; a larger one beside them.
const MERGED_AT_ONCE_MAX: u64 = 1_000_000;
/// How often it is looked whether a merge has ended, and after a failure tried again.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    pub(super) dir: PathBuf,
    pub(super) keys: Keys,
    pub(super) keys_max: u64,
    /// The oldest first, none missing.
    pub(super) runs: Vec<Arc<Run>>,
    /// Keys of jobs up to this one are in runs, but for those that are passed over.
    after: JobNo,
    /// Those that are not yet, in the order of jobs.
    waiting: Vec<Taken>,
    /// Keys that were seen since the last run, with those that are passed over; and the last job.
    seen: u64,
    last: JobNo,
    run_keys: u64,
    expires_after: Micros,
    /// The time of the latest event.
    now: Timestamp,
    merging: Option<Merging>,
    failed: Option<Instant>,
}

/// A merge on a thread of its own.
struct Merging {
    /// The place of the first of its runs.
    first: usize,
    runs: usize,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Option<Run>, KeysError>>,
}

impl Writer {
    /// Takes over what the core remembers.
    pub(super) fn new(
        dir: PathBuf,
        keys: Keys,
        keys_max: u64,
        runs: Vec<Arc<Run>>,
        state: &State,
    ) -> Writer {
        let after = runs.last().map_or(JobNo(0), |run| run.last);
        let mut writer = Writer {
            dir,
            keys,
            keys_max,
            runs,
            after,
            waiting: Vec::new(),
            seen: 0,
            last: after,
            run_keys: 0,
            expires_after: Micros::ZERO,
            now: state.event_time(),
            merging: None,
            failed: None,
        };
        writer.configure(state.config().idempotency_max, state.config().idempotency_for);
        writer.remember(state);
        writer.show();
        writer
    }

    fn remember(&mut self, state: &State) {
        let after = self.after;
        let print = |job: JobNo| state.job(job).map_or(0, |job| job.spec.print());
        for key in state.keys.iter().filter(|key| key.job > after) {
            self.take_key(&key.name, print(key.job), key.job, key.at);
        }
        for id in state.ids.iter().filter(|id| id.job > after) {
            self.take_id(&JobId::from(id.name.clone()), id.job, id.at);
        }
        self.waiting.sort_by_key(|taken| taken.job);
        self.last = self.last.max(state.last_job);
    }

    pub(super) fn run(mut self, inbox: &Receiver<Arc<Record>>) {
        lower_priority();
        loop {
            self.attempt();
            let news = match self.merging.is_some() || self.failed.is_some() {
                true => inbox.recv_timeout(INTERVAL),
                false => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match news {
                Ok(record) => self.take(&record),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(merging) = self.merging.take() {
            merging.stop.store(true, Ordering::Relaxed);
            if merging.thread.join().is_err() {
                tracing::error!("the merging of idempotency keys panicked");
            }
        }
    }

    /// What can't be written now, as when the disk is full, waits. The core then takes no keys that it
    /// would have to forget others for.
    fn attempt(&mut self) {
        if self.failed.is_some_and(|failed| failed.elapsed() < INTERVAL) {
            return;
        }
        let before = self.failed.take();
        if let Err(error) = self.write().and_then(|()| self.merge()) {
            self.failed = Some(Instant::now());
            if before.is_none() {
                tracing::error!(%error, "idempotency keys are kept in memory alone; when it is full, they are refused");
            }
        }
    }

    fn take(&mut self, record: &Record) {
        for entry in &record.entries {
            self.now = entry.at;
            match &entry.event {
                Event::Submitted { first, jobs, .. } => {
                    for (job, no) in jobs.iter().zip((first.0..).map(JobNo)) {
                        self.take_job(job, no, entry.at);
                    }
                }
                Event::Configured { config, .. } => {
                    self.configure(config.idempotency_max, config.idempotency_for);
                }
                _ => {}
            }
        }
        self.keys.set_now(self.now);
    }

    fn take_job(&mut self, job: &AcceptedJob, no: JobNo, at: Timestamp) {
        if let Some(key) = &job.spec.idempotency_key {
            self.take_key(key, job.spec.print(), no, at);
        }
        self.take_id(&job.spec.id, no, at);
        self.last = no;
    }

    fn take_key(&mut self, key: &Name, print: u16, job: JobNo, at: Timestamp) {
        self.seen += 1;
        if !is_automatic(key) {
            self.waiting.push(Taken { start: Start::of_key(key), job, print, at });
        }
    }

    fn take_id(&mut self, id: &JobId, job: JobNo, at: Timestamp) {
        if !is_made_by_scheduler(id) {
            self.seen += 1;
            self.waiting.push(Taken { start: Start::of_id(id), job, print: 0, at });
        }
    }

    fn configure(&mut self, in_memory: u64, expires_after: Micros) {
        self.run_keys = (in_memory / RUNS_IN_MEMORY).clamp(1, RUN_KEYS_MAX);
        self.expires_after = expires_after;
        self.keys.set_expires_after(expires_after);
    }

    /// Writes a run if there are keys enough for one, and drops those that are over.
    fn write(&mut self) -> Result<(), KeysError> {
        if self.seen < self.run_keys {
            return Ok(());
        }
        self.drop_expired()?;
        if !self.waiting.is_empty() {
            let kept: u64 = self.runs.iter().map(|run| run.keys).sum();
            if kept + self.waiting.len() as u64 > self.keys_max {
                return Ok(());
            }
            let after = self.runs.last().map_or(self.after, |run| run.last);
            self.runs.push(Arc::new(run_writer::write(&self.dir, after, &self.waiting)?));
            self.waiting.clear();
        }
        self.seen = 0;
        self.after = self.last;
        self.show();
        Ok(())
    }

    /// Those who submit find what is there now.
    fn show(&self) {
        self.keys.replace(Files { kept: self.after, runs: self.runs.clone() });
    }

    fn drop_expired(&mut self) -> Result<(), KeysError> {
        // What is being merged is dropped as a part of the whole.
        if self.merging.is_some() {
            return Ok(());
        }
        let is_over = |run: &Arc<Run>| self.now.since(run.newest()) > self.expires_after;
        let over = self.runs.iter().take_while(|run| is_over(run)).count();
        if over == 0 {
            return Ok(());
        }
        let dropped: Vec<Arc<Run>> = self.runs.drain(..over).collect();
        self.show();
        // The oldest first: should this end in between, none is missing in the middle.
        dropped.iter().try_for_each(|run| run.remove()).map_err(KeysError::Io)
    }

    fn merge(&mut self) -> Result<(), KeysError> {
        self.end_merge()?;
        loop {
            // What came after those that are being merged has its own turn.
            let begin = self.merging.as_ref().map_or(0, |merging| merging.first + merging.runs);
            let keys: Vec<u64> = self.runs[begin..].iter().map(|run| run.keys).collect();
            let Some(due) = merge::due(&keys) else { return Ok(()) };
            let range = begin + due.start..begin + due.end;
            let runs = self.runs[range.clone()].to_vec();
            let merge = Merge { runs, now: self.now, expires_after: self.expires_after };
            if merge.keys() <= MERGED_AT_ONCE_MAX {
                if let Some(run) = merge.run(&self.dir, &AtomicBool::new(false))? {
                    self.replace(range, run)?;
                }
            } else if self.merging.is_none() {
                self.merging = Some(Merging::start(range.start, merge, self.dir.clone())?);
            } else {
                return Ok(());
            }
        }
    }

    fn end_merge(&mut self) -> Result<(), KeysError> {
        let Some(Merging { first, runs, thread, .. }) =
            self.merging.take_if(|merging| merging.thread.is_finished())
        else {
            return Ok(());
        };
        let merged = thread.join().map_err(|_| std::io::Error::other("the merging panicked"))?;
        match merged? {
            Some(run) => self.replace(first..first + runs, run),
            None => Ok(()),
        }
    }

    fn replace(&mut self, range: std::ops::Range<usize>, run: Run) -> Result<(), KeysError> {
        let path = run.path().to_owned();
        let merged: Vec<Arc<Run>> = self.runs.splice(range, [Arc::new(run)]).collect();
        self.show();
        // The last one was replaced in its place.
        let mut others = merged.iter().filter(|run| run.path() != path);
        others.try_for_each(|run| run.remove()).map_err(KeysError::Io)
    }
}

impl Merging {
    fn start(first: usize, merge: Merge, dir: PathBuf) -> std::io::Result<Merging> {
        let (runs, stop) = (merge.runs.len(), Arc::new(AtomicBool::new(false)));
        let stopping = stop.clone();
        let thread = std::thread::Builder::new().name("keys-merge".to_owned());
        let thread = thread.spawn(move || {
            lower_priority();
            merge.run(&dir, &stopping)
        })?;
        Ok(Merging { first, runs, stop, thread })
    }
}
