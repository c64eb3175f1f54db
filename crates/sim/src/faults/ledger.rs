//! What the durable events say, kept by a second and simpler hand than the engine's.
//!
//! Invariants compare what the engine does with this. It knows only what the journal holds, so it
//! needs no rollback when a scheduler crashes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bellwether_core::model::{
    Config, FailureCause, Handoff, JobId, JobNo, JobSpec, Micros, Name, Seq, Timestamp, Token,
    WorkerId, WorkerKey, WorkerNo, WorkerSpec,
};
use bellwether_core::{Entry, Event};

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Completed { token: Token, result_hash: [u8; 32] },
    Failed,
    Cancelled,
    Skipped,
    DeadLettered,
}

/// An attempt that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct OpenAttempt {
    pub token: Token,
    pub worker: WorkerNo,
    pub started: bool,
    pub predicted: Micros,
}

/// A job as the journal tells it.
#[derive(Debug, Clone)]
pub(crate) struct JobRecord {
    pub spec: Arc<JobSpec>,
    pub ending: Option<Ending>,
    /// It has ended at least once, even if it was reopened since.
    pub ended_once: bool,
    pub attempts: Vec<OpenAttempt>,
    /// Those that the job's end closed: a revoke may still name them.
    pub closing: Vec<Token>,
    /// Offers that were not hedges.
    pub dispatches: u32,
    /// Since it was submitted, escalated or reopened.
    pub failures: u32,
    /// Since it was submitted or reopened.
    pub crashes: u32,
    pub escalations: u32,
    pub reopened: u32,
    /// Times it was given back unstarted.
    pub returned: u32,
    /// The worker that a person chose for it.
    pub pinned: Option<WorkerId>,
    /// Those who gave it away, in order.
    pub given: Vec<Handoff>,
}

/// A worker as the journal tells it.
#[derive(Debug, Clone)]
pub(crate) struct WorkerRecord {
    pub spec: Arc<WorkerSpec>,
    pub draining: bool,
    /// Lost or gone.
    pub away: bool,
    /// It answered no offers, and has not spoken since.
    pub silent: bool,
    /// Types that it said it has no handler for.
    pub unhandled: Vec<Name>,
    /// Open attempts: job and token.
    pub open: Vec<(JobNo, Token)>,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    pub config: Config,
    pub last_seq: Seq,
    pub last_at: Timestamp,
    /// Jobs that have not ended.
    pub live: u64,
    pub offers: u64,
    pub hedges: u64,
    jobs: Vec<JobRecord>,
    numbers: BTreeMap<JobId, JobNo>,
    workers: BTreeMap<WorkerNo, WorkerRecord>,
    paused: Vec<Name>,
    /// Which key speaks for which worker.
    keys: BTreeMap<WorkerId, WorkerKey>,
}

impl Ledger {
    pub(crate) fn new(config: Config) -> Ledger {
        Ledger {
            config,
            last_seq: Seq(0),
            last_at: Timestamp(0),
            live: 0,
            offers: 0,
            hedges: 0,
            jobs: Vec::new(),
            numbers: BTreeMap::new(),
            workers: BTreeMap::new(),
            paused: Vec::new(),
            keys: BTreeMap::new(),
        }
    }

    pub(crate) fn job(&self, job: JobNo) -> Option<&JobRecord> {
        self.jobs.get(job.0.checked_sub(1)? as usize)
    }

    pub(crate) fn job_named(&self, id: &JobId) -> Option<(JobNo, &JobRecord)> {
        let number = *self.numbers.get(id)?;
        Some((number, self.job(number)?))
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = (JobNo, &JobRecord)> {
        self.jobs.iter().enumerate().map(|(index, job)| (JobNo(index as u64 + 1), job))
    }

    pub(crate) fn job_count(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn worker(&self, worker: WorkerNo) -> Option<&WorkerRecord> {
        self.workers.get(&worker)
    }

    pub(crate) fn key_of(&self, worker: &WorkerId) -> Option<WorkerKey> {
        self.keys.get(worker).copied()
    }

    pub(crate) fn paused(&self) -> &[Name] {
        &self.paused
    }

    /// Takes over one durable event.
    pub(crate) fn record(&mut self, entry: &Entry) {
        self.last_seq = entry.seq;
        self.last_at = entry.at;
        match &entry.event {
            Event::Submitted { jobs, .. } => jobs.iter().for_each(|job| self.submitted(&job.spec)),
            Event::Assigned { job, worker, hedge, decision } => {
                let (token, predicted) = (Token::from(entry.seq), decision.predicted_duration);
                let attempt = OpenAttempt { token, worker: *worker, started: false, predicted };
                self.assigned(*job, attempt, *hedge);
            }
            Event::Started { job, token } | Event::Granted { job, token } => {
                self.started(*job, *token);
            }
            Event::AttemptFailed { job, token, cause, .. } => {
                self.attempt_failed(*job, *token, *cause);
            }
            Event::Revoked { job, token, .. } => self.close(*job, *token),
            Event::HandedOff { job, token, handoff } => {
                self.close(*job, *token);
                if let Some(job) = self.job_mut(*job) {
                    job.given.push(Handoff::clone(handoff));
                }
            }
            Event::WorkerKeyBound { worker, key, .. } | Event::WorkerKeyRotated { worker, key } => {
                self.keys.insert(worker.clone(), *key);
            }
            Event::WorkerKeyRevoked { worker } => {
                self.keys.remove(worker);
            }
            Event::Completed { job, token, result_hash, .. } => {
                self.ended(*job, Ending::Completed { token: *token, result_hash: *result_hash });
            }
            Event::DeadLettered { job, .. } => self.ended(*job, Ending::DeadLettered),
            Event::Failed { job, .. } => self.ended(*job, Ending::Failed),
            Event::Skipped { job, .. } | Event::SkippedByKey { job, .. } => {
                self.ended(*job, Ending::Skipped)
            }
            Event::Cancelled { job, .. } => self.ended(*job, Ending::Cancelled),
            Event::Reopened { job } => self.reopened(*job),
            Event::Escalated { job, .. } => {
                if let Some(job) = self.job_mut(*job) {
                    job.escalations += 1;
                    job.failures = 0;
                }
            }
            Event::WorkerJoined { worker, spec } => self.joined(*worker, spec),
            Event::WorkerReturned { worker } => self.worker_mut(*worker, |w| {
                w.away = false;
                w.silent = false;
            }),
            Event::WorkerSilent { worker } => self.worker_mut(*worker, |w| w.silent = true),
            Event::WorkerHeard { worker } => self.worker_mut(*worker, |w| w.silent = false),
            Event::WorkerDraining { worker } => self.worker_mut(*worker, |w| w.draining = true),
            Event::WorkerUndrained { worker } => self.worker_mut(*worker, |w| w.draining = false),
            Event::WorkerLost { worker } | Event::WorkerLeft { worker } => {
                self.worker_mut(*worker, |w| w.away = true);
            }
            Event::Paused { kind } => self.paused.push(kind.clone()),
            Event::Unpaused { kind } => self.paused.retain(|paused| paused != kind),
            Event::Configured { config, .. } => self.config = Config::clone(config),
            Event::Pinned { job, worker } => {
                let id = self.worker(*worker).map(|worker| worker.spec.id.clone());
                if let Some(job) = self.job_mut(*job) {
                    job.pinned = id;
                }
            }
            Event::Progressed { .. }
            | Event::Retried { .. }
            | Event::Due { .. }
            | Event::WorkerReported { .. }
            | Event::ModelLoaded { .. }
            | Event::WorkerInvited { .. }
            | Event::PredictorFailed { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed
            | Event::DriftDetected { .. }
            | Event::Warmed { .. }
            | Event::TermsExtended { .. }
            | Event::ActorNamed { .. }
            | Event::Checkpointed { .. }
            | Event::ClockStepped { .. }
            | Event::Noted { .. } => {}
        }
    }

    fn job_mut(&mut self, job: JobNo) -> Option<&mut JobRecord> {
        self.jobs.get_mut(job.0.checked_sub(1)? as usize)
    }

    fn worker_mut(&mut self, worker: WorkerNo, change: impl FnOnce(&mut WorkerRecord)) {
        if let Some(worker) = self.workers.get_mut(&worker) {
            change(worker);
        }
    }

    fn submitted(&mut self, spec: &Arc<JobSpec>) {
        self.jobs.push(JobRecord {
            spec: Arc::clone(spec),
            ending: None,
            ended_once: false,
            attempts: Vec::new(),
            closing: Vec::new(),
            dispatches: 0,
            failures: 0,
            crashes: 0,
            escalations: 0,
            reopened: 0,
            returned: 0,
            pinned: None,
            given: Vec::new(),
        });
        self.numbers.insert(spec.id.clone(), JobNo(self.jobs.len() as u64));
        self.live += 1;
    }

    fn assigned(&mut self, job: JobNo, attempt: OpenAttempt, hedge: bool) {
        let OpenAttempt { token, worker, .. } = attempt;
        self.offers += 1;
        self.hedges += u64::from(hedge);
        if let Some(record) = self.job_mut(job) {
            record.dispatches += u32::from(!hedge);
            record.attempts.push(attempt);
        }
        self.worker_mut(worker, |w| w.open.push((job, token)));
    }

    fn started(&mut self, job: JobNo, token: Token) {
        let Some(record) = self.job_mut(job) else { return };
        if let Some(attempt) = record.attempts.iter_mut().find(|a| a.token == token) {
            attempt.started = true;
        }
    }

    fn attempt_failed(&mut self, job: JobNo, token: Token, cause: FailureCause) {
        let open =
            self.job(job).and_then(|record| record.attempts.iter().find(|a| a.token == token));
        let worker = open.map(|attempt| attempt.worker);
        self.close(job, token);
        let Some(record) = self.job_mut(job) else { return };
        match cause {
            FailureCause::Failed
            | FailureCause::TimedOut
            | FailureCause::Stalled
            | FailureCause::Permanent => record.failures += 1,
            FailureCause::WorkerLost => record.crashes += 1,
            FailureCause::Undelivered => {}
            FailureCause::Returned => record.returned += 1,
            FailureCause::NoHandler => {
                // It has not begun anywhere.
                record.dispatches = record.dispatches.saturating_sub(1);
                let kind = record.spec.kind().clone();
                if let Some(worker) = worker {
                    self.worker_mut(worker, |worker| worker.unhandled.push(kind));
                }
            }
        }
    }

    fn close(&mut self, job: JobNo, token: Token) {
        let Some(record) = self.job_mut(job) else { return };
        record.closing.retain(|closing| *closing != token);
        let Some(position) = record.attempts.iter().position(|a| a.token == token) else { return };
        let worker = record.attempts.swap_remove(position).worker;
        self.worker_mut(worker, |w| w.open.retain(|(_, open)| *open != token));
    }

    fn ended(&mut self, job: JobNo, ending: Ending) {
        let Some(record) = self.job_mut(job) else { return };
        let was_open = record.ending.is_none();
        record.ending = Some(ending);
        record.ended_once = true;
        let open = std::mem::take(&mut record.attempts);
        record.closing.extend(open.iter().map(|attempt| attempt.token));
        self.live -= u64::from(was_open);
        for attempt in open {
            self.worker_mut(attempt.worker, |w| w.open.retain(|(_, t)| *t != attempt.token));
        }
    }

    fn reopened(&mut self, job: JobNo) {
        let Some(record) = self.job_mut(job) else { return };
        let was_ended = record.ending.take().is_some();
        record.closing.clear();
        record.failures = 0;
        record.crashes = 0;
        record.reopened += 1;
        record.given.clear();
        self.live += u64::from(was_ended);
    }

    fn joined(&mut self, worker: WorkerNo, spec: &Arc<WorkerSpec>) {
        let record = self.workers.entry(worker).or_insert_with(|| WorkerRecord {
            spec: Arc::clone(spec),
            draining: false,
            away: false,
            silent: false,
            unhandled: Vec::new(),
            open: Vec::new(),
        });
        record.spec = Arc::clone(spec);
        // A new process knows nothing of the old one's drain.
        record.draining = false;
        record.away = false;
        record.silent = false;
        record.unhandled.clear();
    }
}
