//! What a journal tells of the jobs that ran: when they came, what they asked for, who ran them
//! and for how long.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bellwether_core::life::AttemptStep;
use bellwether_core::model::{
    Config, Guarantee, JobNo, JobSpec, JobStatus, Micros, RunId, Timestamp, Token, WorkerNo,
    WorkerSpec,
};
use bellwether_core::{AttemptChange, AttemptEnd, Entry, Event, Transition};
use bellwether_journal::{Head, ReadError, Reader, SnapshotError, state};
use serde::Serialize;

use crate::trace::engine_run::FOR_EVER;
use crate::trace::{Batch, TraceJob};

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("no job in the journal has completed, so there is nothing to compare")]
    Nothing,
}

/// Jobs of the journal that are not compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// They had not ended.
    pub unfinished: usize,
    /// They ended without a result.
    pub not_completed: usize,
    /// They were submitted before the journal starts.
    pub submitted_before: usize,
}

#[derive(Debug)]
pub struct Recording {
    /// In the order of their submission.
    pub(super) jobs: Vec<RecordedJob>,
    pub(super) batches: Vec<Batch>,
    pub(super) workers: BTreeMap<WorkerNo, Arc<WorkerSpec>>,
    /// The latest.
    pub config: Config,
    pub left_out: LeftOut,
    pub(super) hedges: u64,
    pub(super) duplicates: u64,
    pub(super) wasted: Micros,
}

/// A job that completed.
#[derive(Debug)]
pub(super) struct RecordedJob {
    pub(super) trace: TraceJob,
    pub(super) asked: JobSpec,
    pub(super) submitted: Timestamp,
    /// Positions among the recorded jobs.
    pub(super) dependencies: Vec<usize>,
    pub(super) worker: WorkerNo,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    /// How long the first worker of its last round was quiet.
    pub(super) quiet: Micros,
}

impl Recording {
    /// Reads the whole journal.
    pub fn read(
        reader: &dyn Reader,
        mut read: impl FnMut(usize),
    ) -> Result<Recording, RecordingError> {
        let mut notes = Notes::default();
        if reader.base()? != Head::GENESIS
            && let Some(snapshot) = reader.load_snapshot()?
        {
            let engine = state::decode(&snapshot.bytes)?;
            let workers = engine.state().workers();
            notes.workers = workers.map(|(no, worker)| (no, worker.spec.clone())).collect();
            notes.config = engine.state().config().clone();
        }
        for record in reader.read(reader.base()?.seq.next())? {
            let record = record?;
            read(record.entries.len());
            record.entries.iter().for_each(|entry| notes.take(entry));
        }
        notes.conclude()
    }
}

#[derive(Debug)]
struct Life {
    spec: Arc<JobSpec>,
    dependencies: Box<[JobNo]>,
    /// Jobs of one submission share it.
    submission: usize,
    run: Option<RunId>,
    submitted: Timestamp,
    attempts: Vec<Tried>,
    status: JobStatus,
    completed: Option<(WorkerNo, Timestamp, Timestamp)>,
}

#[derive(Debug)]
struct Tried {
    token: Token,
    worker: WorkerNo,
    hedge: bool,
    offered: Timestamp,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Notes {
    lives: BTreeMap<JobNo, Life>,
    submissions: usize,
    unknown: BTreeSet<JobNo>,
    workers: BTreeMap<WorkerNo, Arc<WorkerSpec>>,
    config: Config,
    hedges: u64,
    duplicates: u64,
    wasted: Micros,
}

impl Notes {
    fn take(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Submitted { run, jobs, .. } => {
                self.submissions += 1;
                for (taken, job) in entry.transitions().zip(jobs) {
                    let life = Life {
                        spec: job.spec.clone(),
                        dependencies: job.dependencies.clone(),
                        submission: self.submissions,
                        run: run.as_ref().map(|run| run.id.clone()),
                        submitted: entry.at,
                        attempts: Vec::new(),
                        status: taken.to,
                        completed: None,
                    };
                    self.lives.insert(taken.job, life);
                }
            }
            Event::WorkerJoined { worker, spec } => {
                self.workers.insert(*worker, spec.clone());
            }
            Event::Configured { config, .. } => self.config = (**config).clone(),
            _ => {
                if let Some(step) = entry.attempt() {
                    self.take_step(&step, entry.at);
                }
                for Transition { job, to, .. } in entry.transitions() {
                    if let Some(life) = self.lives.get_mut(&job) {
                        life.status = to;
                    }
                }
            }
        }
    }

    fn take_step(&mut self, step: &AttemptStep<'_>, at: Timestamp) {
        let AttemptStep { job, token, what } = *step;
        if let AttemptChange::Offered { worker, hedge, .. } = what {
            self.hedges += u64::from(hedge);
            let tried = Tried { token, worker, hedge, offered: at, started: None, ended: None };
            match self.lives.get_mut(&job) {
                Some(life) => life.attempts.push(tried),
                None => drop(self.unknown.insert(job)),
            }
            return;
        }
        let Some(life) = self.lives.get_mut(&job) else { return };
        let found = life.attempts.iter_mut().find(|tried| tried.token == token);
        let Some(tried) = found else { return };
        match what {
            AttemptChange::Offered { .. } => {}
            AttemptChange::Started => tried.started = Some(at),
            AttemptChange::Ended(end) => {
                tried.ended = Some(at);
                match end {
                    AttemptEnd::Completed { .. } => {
                        let started = tried.started.unwrap_or(tried.offered);
                        life.completed = Some((tried.worker, started, at));
                    }
                    AttemptEnd::Revoked { .. } => {
                        if let Some(started) = tried.started {
                            self.duplicates += 1;
                            self.wasted += at.since(started);
                        }
                    }
                    AttemptEnd::Failed { .. } => {}
                }
            }
        }
    }

    fn conclude(self) -> Result<Recording, RecordingError> {
        let mut left_out = LeftOut { submitted_before: self.unknown.len(), ..LeftOut::default() };
        let mut positions: HashMap<JobNo, usize> = HashMap::new();
        let mut jobs = Vec::new();
        let mut batches: Vec<(usize, Batch)> = Vec::new();
        for (no, life) in &self.lives {
            let ended = life.status.has_ended();
            let Some(completed) = life.completed.filter(|_| ended) else {
                let count = match ended {
                    true => &mut left_out.not_completed,
                    false => &mut left_out.unfinished,
                };
                *count += 1;
                continue;
            };
            let at = jobs.len();
            positions.insert(*no, at);
            match batches.last_mut() {
                Some((submission, batch)) if *submission == life.submission => batch.jobs.end += 1,
                _ => {
                    let batch = Batch { run: life.run.clone(), jobs: at..at + 1 };
                    batches.push((life.submission, batch));
                }
            }
            let on = |no: &JobNo| positions.get(no).copied();
            // A dependency may be listed behind: then it is found once all are known.
            let dependencies = life.dependencies.iter().filter_map(on).collect();
            jobs.push(recorded(life, completed, dependencies));
        }
        if jobs.is_empty() {
            return Err(RecordingError::Nothing);
        }
        for (no, at) in &positions {
            let on = self.lives[no].dependencies.iter().filter_map(|no| positions.get(no));
            jobs[*at].dependencies = on.copied().collect();
        }
        let ran: BTreeSet<WorkerNo> = jobs.iter().map(|job| job.worker).collect();
        let workers = self.workers.into_iter().filter(|(no, _)| ran.contains(no)).collect();
        Ok(Recording {
            jobs,
            batches: batches.into_iter().map(|(_, batch)| batch).collect(),
            workers,
            config: self.config,
            left_out,
            hedges: self.hedges,
            duplicates: self.duplicates,
            wasted: self.wasted,
        })
    }
}

fn recorded(
    life: &Life,
    (worker, started, ended): (WorkerNo, Timestamp, Timestamp),
    dependencies: Vec<usize>,
) -> RecordedJob {
    let spec = &life.spec;
    let trace = TraceJob {
        id: spec.id.clone(),
        kind: spec.kind().clone(),
        submit_ms: life.submitted.0 / 1_000,
        duration_ms: ended.since(started).0 / 1_000,
        run: life.run.clone(),
        dependencies: Vec::new(),
        cpu: spec.requirements.resources.cpu,
        payload_bytes: spec.input_bytes(),
        sender: spec.sender.clone(),
        worker_class: None,
    };
    let mut asked = JobSpec::new(spec.id.clone(), spec.kind().clone());
    asked.requirements = spec.requirements.clone();
    asked.priority = spec.priority;
    asked.sender = spec.sender.clone();
    asked.extras_mut().input_bytes = Some(spec.input_bytes());
    // Nothing fails here, so nothing is tried again and no result has to be guarded.
    asked.guarantee = Guarantee::AtLeastOnce;
    asked.timeout = Some(FOR_EVER);
    asked.retry = Some(0);
    let not_before = spec.extras().not_before;
    if not_before > life.submitted {
        asked.extras_mut().delay = not_before.since(life.submitted);
    }
    let first = life.attempts.iter().rev().find(|tried| !tried.hedge);
    let quiet = first.map_or(Micros::ZERO, |tried| {
        let heard = tried.started.or(tried.ended).unwrap_or(tried.offered);
        heard.since(tried.offered)
    });
    let submitted = life.submitted;
    RecordedJob { trace, asked, submitted, dependencies, worker, started, ended, quiet }
}
