//! All that the scheduler knows.
//!
//! The fields are of two kinds. The first are facts, go into a snapshot and are changed by `apply`
//! alone; they are public, so that they can be written down and a state be built of them, and an
//! engine only ever shows its own. The others (`index`, and what jobs and workers carry of it) are
//! derived from them to make decisions cheap, and are rebuilt when a snapshot is restored; no
//! decision may depend on anything in them that the facts do not determine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::DeadReason;
use crate::index::Index;
use crate::index::classes::ClassNo;
use crate::index::groups::GroupNo;
use crate::life::Counts;
use crate::model::queue::Queue;
use crate::model::table::Table;
use crate::model::{
    Actors, Attempt, Config, FailureCause, Handoff, Heartbeat, HeldAttempt, Invitation, JobNo,
    JobSpec, JobStatus, KeyBinding, MaybeWorker, Micros, MovedKey, Name, Phase, Priority,
    Resources, RunId, RunNo, Seq, TakenKey, Ticket, Timestamp, Token, WallAhead, WorkerId,
    WorkerNo, WorkerSpec, WorkerStatus,
};
use crate::place::breaker::Breaker;
use crate::place::hedge::Hedging;
use crate::place::pace::Pace;
use crate::place::predictor::{Features, Statistics};
use crate::place::shadow::ShadowTotals;

#[derive(Debug, Default)]
pub struct State {
    pub seq: Seq,
    /// The latest time that a command brought.
    pub now: Timestamp,
    /// The latest time of an event.
    pub event_time: Timestamp,
    /// Of the scheduler's time, as far as is known.
    pub wall_ahead: WallAhead,
    pub config: Config,
    pub config_version: u64,
    pub last_job: JobNo,
    pub last_run: RunNo,
    pub last_worker: WorkerNo,
    pub jobs: Table<JobNo, Job>,
    pub runs: Table<RunNo, Run>,
    pub workers: Table<WorkerNo, Worker>,
    pub actors: Actors,
    pub paused: BTreeSet<Name>,
    /// What one leader leaves for the next.
    pub notes: BTreeMap<Name, Name>,
    pub statistics: Statistics,
    pub breaker: Breaker,
    pub hedging: Hedging,
    pub shadow: ShadowTotals,
    /// How long models took to load, by name.
    pub model_loads: BTreeMap<Name, Micros>,
    /// The worker that round-robin chose last.
    pub turn: WorkerNo,
    /// The highest token granted or assigned so far.
    pub token_max: Token,
    /// Jobs that have ended, in that order, until they are forgotten.
    pub ended: Queue<(Timestamp, JobNo)>,
    /// Workers that went away, in that order, until they are forgotten.
    pub gone: Queue<(Timestamp, WorkerNo)>,
    /// Who last completed a job of this type and sender.
    pub last_runs: BTreeMap<(u32, u32), WorkerNo>,
    /// Idempotency keys in order of arrival, until they expire or have no room.
    pub keys: Queue<TakenKey>,
    pub moved_key: MovedKey,
    /// Ids that somebody gave, the same way.
    pub ids: Queue<TakenKey>,
    pub moved_id: MovedKey,
    pub totals: Totals,
    /// Jobs that were handed off, and by whom in turn.
    pub handoffs: BTreeMap<JobNo, Vec<Handoff>>,
    /// Which key speaks for which worker.
    pub worker_keys: BTreeMap<WorkerId, KeyBinding>,
    /// Tickets that are open.
    pub invitations: BTreeMap<Ticket, Invitation>,

    pub(crate) index: Index,
    #[cfg(feature = "defects")]
    pub(crate) defect: Option<crate::defect::Defect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub spec: Arc<JobSpec>,
    pub state: JobState,
    pub run: Option<RunNo>,
    pub submitted_at: Timestamp,
    /// Offers so far, hedges not counted.
    pub attempts: u32,
    pub counts: Counts,
    pub escalated: Option<Box<Escalated>>,
    /// Boxed, because it is rare and a million jobs wait.
    pub pinned: Option<Box<WorkerId>>,
    /// The predicted duration when it was submitted.
    pub predicted: Micros,
    /// Its place in the order of ready jobs: lower goes first.
    pub rank: i64,
    pub ended_at: Timestamp,
    /// Dependencies that ended without completing; one that starts over no longer counts.
    pub broken: u32,
    /// Those that had not ended at submission.
    pub dependencies: Box<[JobNo]>,
    /// Jobs that wait for this one.
    pub dependents: Vec<JobNo>,
    /// Where the last of its dependencies ran.
    pub locality: MaybeWorker,
    /// Where its last attempt failed: the next one goes elsewhere if it can.
    pub avoid: MaybeWorker,
    /// Its last event.
    pub last: Seq,
    pub derived: Derived,
}

// A million jobs wait: a byte more of each is a megabyte.
const _: () = assert!(size_of::<Job>() <= 216);

/// What a job carries of the index, because every decision looks at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Derived {
    pub(crate) class: ClassNo,
    /// What predictions know it by.
    pub(crate) features: Features,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalated {
    pub priority: Priority,
    pub role: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// For so many dependencies.
    Waiting {
        unmet: u32,
    },
    /// For a moment: its `not_before`, or the end of its backoff.
    Delayed {
        until: Timestamp,
    },
    /// For a worker.
    Ready,
    /// Offered or running; two attempts if it is hedged.
    Active(Vec<Attempt>),
    Completed {
        token: Token,
        result_hash: [u8; 32],
    },
    Failed {
        cause: FailureCause,
    },
    Cancelled,
    Skipped {
        because: JobNo,
    },
    DeadLettered {
        reason: DeadReason,
    },
}

impl JobState {
    /// Where it is, without what goes with it.
    pub fn status(&self) -> JobStatus {
        match self {
            JobState::Waiting { .. } => JobStatus::Waiting,
            JobState::Delayed { .. } => JobStatus::Delayed,
            JobState::Ready => JobStatus::Ready,
            JobState::Active(attempts) => {
                let runs = |attempt: &Attempt| matches!(attempt.phase, Phase::Running { .. });
                if attempts.iter().any(runs) { JobStatus::Running } else { JobStatus::Offered }
            }
            JobState::Completed { .. } => JobStatus::Completed,
            JobState::Failed { .. } => JobStatus::Failed,
            JobState::Cancelled => JobStatus::Cancelled,
            JobState::Skipped { .. } => JobStatus::Skipped,
            JobState::DeadLettered { .. } => JobStatus::DeadLettered,
        }
    }

    pub fn has_ended(&self) -> bool {
        self.status().has_ended()
    }
}

impl Job {
    pub fn priority(&self) -> Priority {
        self.escalated.as_ref().map_or(self.spec.priority, |e| e.priority)
    }

    /// When it ended; one that was reopened has not.
    pub fn ended(&self) -> Option<Timestamp> {
        self.state.has_ended().then_some(self.ended_at)
    }

    pub fn offers(&self) -> &[Attempt] {
        match &self.state {
            JobState::Active(attempts) => attempts,
            JobState::Waiting { .. }
            | JobState::Delayed { .. }
            | JobState::Ready
            | JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. } => &[],
        }
    }

    pub fn attempt(&self, token: Token) -> Option<&Attempt> {
        self.offers().iter().find(|attempt| attempt.token == token)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    /// Jobs of it that the scheduler still remembers.
    pub remembered: u32,
    pub live: u32,
}

/// Stands for every type where types are paused.
pub const ALL_TYPES: &str = "*";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub spec: Arc<WorkerSpec>,
    pub status: WorkerStatus,
    pub draining: bool,
    /// Models that are loaded; sorted.
    pub models: Vec<Name>,
    /// Types of jobs that it was given and had no handler for; sorted.
    pub unhandled: Vec<Name>,
    pub beat: Heartbeat,
    pub beat_at: Timestamp,
    /// Load and queue that are not ours, as of the last report.
    pub foreign_load_permille: u32,
    pub foreign_queue: u32,
    pub held: Vec<HeldAttempt>,
    pub used: Resources,
    /// Time spent on ended attempts, in all.
    pub busy: Micros,
    /// How fast it has proved to be among its class.
    pub pace: Pace,
    /// The work of the whole fleet when it last completed a job, see `Totals::work`.
    pub seen_at: Micros,
    /// Attempts that it completed, and those that failed there.
    pub completed: u64,
    pub failed: u64,
    /// It said goodbye, and was not given up.
    pub left: bool,
    /// It has not answered its last offers since then, and is given nothing until it speaks.
    pub silent_since: Option<Timestamp>,
    /// Attempts at hand that are predicted to be short.
    pub short: u32,
    pub changed_at: Timestamp,
    pub last: Seq,
    pub listing: Listing,
}

/// What a worker carries of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub(crate) group: GroupNo,
    pub(crate) listed: Option<crate::index::groups::FreeKey>,
    /// When it was last heard of: volatile, a restart gives every worker a fresh term.
    pub(crate) seen_at: Timestamp,
    /// What it last said of itself; no event tells of small changes.
    pub(crate) beat: Option<Heartbeat>,
    /// A timer is set for it.
    pub(crate) watched: bool,
    /// When it last said something of an attempt.
    pub(crate) spoke_at: Timestamp,
    /// The offers that it has not answered in time since then, as many as make it silent.
    pub(crate) missed: Vec<Token>,
    /// Attempts at hand that are predicted to be over at once.
    pub(crate) instant: u32,
}

impl Worker {
    pub fn id(&self) -> &WorkerId {
        &self.spec.id
    }

    /// When it was last heard of, as far as is known.
    pub fn last_seen(&self) -> Timestamp {
        self.listing.seen_at.max(self.beat_at)
    }

    /// What it last said of itself.
    pub fn last_beat(&self) -> Heartbeat {
        self.listing.beat.unwrap_or(self.beat)
    }

    /// Idle or busy: once it has room, it is given more.
    pub fn takes_jobs(&self) -> bool {
        self.status == WorkerStatus::Open && !self.draining && self.silent_since.is_none()
    }

    pub fn is_warm(&self, model: &Name) -> bool {
        self.models.binary_search(model).is_ok()
    }

    pub fn fits(&self, wanted: Resources) -> bool {
        let has = self.spec.resources;
        (has.cpu == 0 || self.used.cpu.saturating_add(wanted.cpu) <= has.cpu)
            && (has.memory == 0 || self.used.memory.saturating_add(wanted.memory) <= has.memory)
    }

    pub fn free(&self) -> Resources {
        let has = self.spec.resources;
        Resources {
            cpu: has.cpu.saturating_sub(self.used.cpu),
            memory: has.memory.saturating_sub(self.used.memory),
        }
    }

    /// Our own load, as a share of its slots.
    pub fn own_load_permille(&self) -> u32 {
        u32::try_from(self.held.len() as u64 * 1_000 / u64::from(self.spec.slots.max(1)))
            .unwrap_or(u32::MAX)
    }
}

fn is_paused(paused: &BTreeSet<Name>, kind: &Name) -> bool {
    let all = |paused: &Name| paused.as_str() == ALL_TYPES;
    !paused.is_empty() && (paused.contains(kind) || paused.iter().any(all))
}

/// Counts that are kept as things happen, because backpressure must not walk the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub live: u64,
    pub payload_bytes: u64,
    pub submitted: u64,
    pub completed: u64,
    pub assigned: u64,
    pub hedged: u64,
    /// Moving average of the time between two ended jobs.
    pub end_gap: Micros,
    pub last_end: Timestamp,
    /// Moving average of what attempts take.
    pub mean_duration: Micros,
    /// What completed attempts took, in all.
    pub work: Micros,
    /// The same when a worker was last tried again to learn how fast it is now.
    pub tried_at: Micros,
}

impl State {
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The time of the latest event.
    pub fn event_time(&self) -> Timestamp {
        self.event_time
    }

    /// What was noted under this name last.
    pub fn note(&self, name: &str) -> Option<&Name> {
        self.notes.get(name)
    }

    /// How far the wall clock is ahead of the scheduler's time.
    pub fn wall_ahead(&self) -> WallAhead {
        self.wall_ahead
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn config_version(&self) -> u64 {
        self.config_version
    }

    pub fn job(&self, no: JobNo) -> Option<&Job> {
        self.jobs.get(no)
    }

    pub fn job_no(&self, id: &str) -> Option<JobNo> {
        self.index.ids.get(id).copied()
    }

    pub fn jobs(&self) -> impl Iterator<Item = (JobNo, &Job)> {
        self.jobs.iter()
    }

    pub fn run(&self, no: RunNo) -> Option<&Run> {
        self.runs.get(no)
    }

    pub fn worker(&self, no: WorkerNo) -> Option<&Worker> {
        self.workers.get(no)
    }

    pub fn worker_no(&self, id: &str) -> Option<WorkerNo> {
        self.index.worker_ids.get(id).copied()
    }

    /// The chain of those who gave the job away.
    pub fn handoffs_of(&self, job: JobNo) -> &[Handoff] {
        // Nearly always there are none at all.
        if self.handoffs.is_empty() {
            return &[];
        }
        self.handoffs.get(&job).map_or(&[], Vec::as_slice)
    }

    pub fn key_of(&self, worker: &str) -> Option<&KeyBinding> {
        self.worker_keys.get(worker)
    }

    pub fn workers(&self) -> impl Iterator<Item = (WorkerNo, &Worker)> {
        self.workers.iter()
    }

    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Jobs that wait for nothing but a worker.
    pub fn ready_jobs(&self) -> u64 {
        self.index.classes.ready() + self.index.gates.kept_back()
    }

    /// One of the keys of this ready job has no room for it.
    pub fn is_kept_by_key(&self, no: JobNo) -> bool {
        let Some(job) = self.job(no) else { return false };
        let keys = job.spec.key_set().filter(|_| job.state == JobState::Ready);
        keys.is_some_and(|keys| self.index.gates.keeping(keys, (job.rank, no)).is_some())
    }

    /// Ready jobs that one of their keys keeps. Walks the lanes of jobs with the same keys.
    pub fn jobs_kept_by_keys(&self) -> u64 {
        self.index.gates.kept_by_keys()
    }

    /// Jobs that wait for a moment.
    pub fn delayed_jobs(&self) -> u64 {
        self.index.timers.delayed()
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub fn shadow(&self) -> &ShadowTotals {
        &self.shadow
    }

    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Jobs of this type stay in the queue.
    pub fn is_paused(&self, kind: &Name) -> bool {
        is_paused(&self.paused, kind)
    }

    /// After a change of what is paused.
    pub(crate) fn repause(&mut self) {
        let State { paused, index, .. } = self;
        index.classes.set_paused(|kind| is_paused(paused, kind));
    }

    pub fn paused(&self) -> &BTreeSet<Name> {
        &self.paused
    }

    /// The highest fencing token handed out.
    pub fn token_max(&self) -> Token {
        self.token_max
    }

    /// The most hedges that the budget allows for the offers made so far.
    pub fn hedge_allowance(&self) -> u64 {
        self.hedging.allowance(&self.config, self.totals.assigned)
    }

    /// Is this known bug switched on?
    #[cfg(feature = "defects")]
    pub(crate) fn has(&self, defect: crate::defect::Defect) -> bool {
        self.defect == Some(defect)
    }

    pub(crate) fn expect_job(&self, no: JobNo) -> &Job {
        self.jobs.get(no).expect("events name jobs that are remembered")
    }

    pub(crate) fn expect_job_mut(&mut self, no: JobNo) -> &mut Job {
        self.jobs.get_mut(no).expect("events name jobs that are remembered")
    }

    pub(crate) fn expect_worker(&self, no: WorkerNo) -> &Worker {
        self.workers.get(no).expect("events name workers that are remembered")
    }

    pub(crate) fn expect_worker_mut(&mut self, no: WorkerNo) -> &mut Worker {
        self.workers.get_mut(no).expect("events name workers that are remembered")
    }
}
