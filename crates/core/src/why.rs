//! Why a job is where it is: what it waits for, its place, its expected start.
//!
//! Computed when asked, from the same state that decisions rest on. It walks all workers and at
//! most [`AHEAD_MAX`] waiting jobs.

mod sentence;

use std::collections::BTreeSet;

use crate::index::classes::Class;
use crate::index::kinds::{KindKey, Lack, expected_wait};
use crate::model::{JobId, JobNo, Name, Phase, Target, Timestamp, WorkerId, WorkerStatus};
use crate::place::candidates::Wanted;
use crate::place::choose::{Choice, Reserved};
use crate::place::predictor::predictor;
use crate::state::{Job, JobState, State, Worker};

/// Jobs ahead are counted up to here.
pub const AHEAD_MAX: usize = 10_000;

/// What keeps a job; its `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub job: JobId,
    pub because: Because,
    /// The moment that it was asked at.
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// The scheduler does not know the job, or no longer.
    Unknown,
    /// Jobs that must complete first, with what they are doing.
    Dependencies(Vec<(JobId, &'static str)>),
    /// Its delay, or its backoff after so many attempts that ended without a result.
    Moment { until: Timestamp, ended_attempts: u32 },
    /// Its type is paused.
    Paused { kind: Name },
    /// No worker is there at all.
    NoWorkers,
    /// No worker that is there can ever run it; this one comes nearest.
    Impossible { workers: usize, nearest: WorkerId, lack: Lack },
    /// The one worker that may run it is not registered.
    NoReceiver { receiver: WorkerId },
    /// Workers that could run it take no jobs now.
    Unavailable { draining: Vec<WorkerId>, overloaded: Vec<WorkerId>, unreachable: Vec<WorkerId> },
    /// Every worker that can run it is busy.
    Busy { workers: usize, short_of: Option<WorkerId>, place: Place },
    /// A worker has room, but a busy one is expected to finish the job sooner.
    Held { faster: WorkerId, until: Timestamp },
    /// A worker has room: the job is placed when the scheduler next looks.
    Next { worker: WorkerId },
    /// It is with a worker; two if it is hedged.
    Placed(Vec<Placement>),
    Ended {
        state: Box<JobState>,
        because: Option<JobId>,
        at: Timestamp,
        retries: u32,
        crashes: u32,
    },
}

/// Where a job stands among those that compete for the same workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// At most [`AHEAD_MAX`].
    pub ahead: usize,
    pub ahead_in_class: usize,
    /// When its slot is expected to be free.
    pub expected_start: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub worker: WorkerId,
    pub since: Timestamp,
    pub running: bool,
    pub hedge: bool,
}

impl State {
    /// Why the job is not further than it is.
    pub fn why(&self, no: JobNo, now: Timestamp) -> Why {
        let Some(job) = self.job(no) else {
            let job = Name::fixed(&format!("number {no}"));
            return Why { job, because: Because::Unknown, now };
        };
        let because = match &job.state {
            JobState::Waiting { .. } => Because::Dependencies(self.open_dependencies(job)),
            JobState::Delayed { until } => {
                let ended_attempts = job.failures + job.crashes + job.returns;
                Because::Moment { until: *until, ended_attempts }
            }
            JobState::Ready => self.why_ready(no, job, now),
            JobState::Active(attempts) => {
                let placement = |attempt: &crate::model::Attempt| Placement {
                    worker: self.expect_worker(attempt.worker).id().clone(),
                    since: attempt.phase.since(),
                    running: matches!(attempt.phase, Phase::Running { .. }),
                    hedge: attempt.hedge,
                };
                Because::Placed(attempts.iter().map(placement).collect())
            }
            ended @ (JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. }) => self.ended(job, ended),
        };
        Why { job: job.spec.id.clone(), because, now }
    }

    fn open_dependencies(&self, job: &Job) -> Vec<(JobId, &'static str)> {
        let open = job.spec.dependencies.iter().filter_map(|dependency| self.job(*dependency));
        let open = open.filter(|dependency| !dependency.state.has_ended());
        open.map(|dependency| (dependency.spec.id.clone(), dependency.state.name())).collect()
    }

    fn ended(&self, job: &Job, state: &JobState) -> Because {
        let because = match state {
            JobState::Skipped { because } => self.job(*because).map(|job| job.spec.id.clone()),
            _ => None,
        };
        Because::Ended {
            state: Box::new(state.clone()),
            because: because.filter(|id| *id != job.spec.id),
            at: job.ended_at,
            retries: job.spec.retry,
            crashes: job.crashes,
        }
    }

    fn why_ready(&self, no: JobNo, job: &Job, now: Timestamp) -> Because {
        let class = self.index.classes.get(job.class);
        if class.paused {
            return Because::Paused { kind: class.requirements.kind.clone() };
        }
        if let Target::Receiver(receiver) = &class.requirements.target
            && self.worker_no(receiver.as_str()).is_none()
        {
            return Because::NoReceiver { receiver: receiver.clone() };
        }
        let fleet = self.survey(job);
        if let Some(worker) = fleet.free.first() {
            return self.why_not_now(no, job, worker, now);
        }
        if !fleet.busy.is_empty() {
            let place = self.place(no, job, &fleet.busy, now);
            let short_of = fleet.crowded.map(|worker| worker.id().clone());
            return Because::Busy { workers: fleet.busy.len(), short_of, place };
        }
        fleet.why_nobody()
    }

    /// Sorts the workers by what they could do for the job.
    fn survey(&self, job: &Job) -> Survey<'_> {
        let wanted = &self.index.classes.get(job.class).requirements;
        let mut fleet = Survey::default();
        for (_, worker) in self.workers() {
            if let Target::Receiver(receiver) = &wanted.target
                && receiver != worker.id()
            {
                continue;
            }
            let key = KindKey::of(worker);
            let lack = key.lacks(wanted);
            let unreachable = worker.status == WorkerStatus::Unreachable;
            match lack {
                Some(_) if unreachable => {}
                Some(lack) => fleet.unable(worker, lack, &key, wanted),
                None if unreachable => fleet.unreachable.push(worker.id().clone()),
                None if worker.draining => fleet.draining.push(worker.id().clone()),
                None if worker.status != WorkerStatus::Open => {
                    fleet.overloaded.push(worker.id().clone());
                }
                None if worker.listed.is_none() => fleet.busy.push(worker),
                None if !worker.fits(wanted.resources) => {
                    fleet.busy.push(worker);
                    fleet.crowded = Some(worker);
                }
                None => fleet.free.push(worker),
            }
        }
        fleet
    }

    /// There is room, and yet the job is not placed.
    fn why_not_now(&self, no: JobNo, job: &Job, free: &Worker, now: Timestamp) -> Because {
        let predictor = predictor(self.config.predictor);
        let usable = self.breaker.allows(now);
        let predictor = usable.then_some(predictor.as_ref());
        let wanted = Wanted { no, job, now, except: None, predictor };
        let choice = self.choose(&wanted, !usable, &Reserved::default());
        if let Ok(Choice::Hold { kind, until }) = choice
            && let Some((_, holder, token)) = self.index.kinds.get(kind).coming_free(now, 0)
            && let Some(attempt) = self.job(holder).and_then(|job| job.attempt(token))
        {
            let faster = self.expect_worker(attempt.worker).id().clone();
            return Because::Held { faster, until };
        }
        Because::Next { worker: free.id().clone() }
    }

    fn place(&self, no: JobNo, job: &Job, suitable: &[&Worker], now: Timestamp) -> Place {
        let own = self.index.classes.get(job.class);
        let before = ..(job.rank, no);
        let ahead_in_class = own.ready.range(before).take(AHEAD_MAX).count();
        let kinds: BTreeSet<u32> = suitable.iter().map(|worker| worker.kind).collect();
        let competes = |class: &&Class| match &class.requirements.target {
            _ if class.paused => false,
            Target::Receiver(id) => suitable.iter().any(|worker| worker.id() == id),
            Target::Any | Target::Role(_) => class.kinds.iter().any(|kind| kinds.contains(kind)),
        };
        let rivals = self.index.classes.iter().filter(competes);
        let ahead = rivals.flat_map(|class| class.ready.range(before)).take(AHEAD_MAX).count();
        let expected_start = self.expected_start(job, suitable, ahead, now);
        Place { ahead, ahead_in_class, expected_start }
    }

    /// The slots that come free are taken in turn by those ahead; after that every job is
    /// expected to last as long as this one.
    fn expected_start(
        &self,
        job: &Job,
        suitable: &[&Worker],
        ahead: usize,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let held = suitable.iter().flat_map(|worker| &worker.held);
        let mut ends: Vec<Timestamp> = held
            .filter_map(|held| {
                let attempt = self.job(held.job)?.attempt(held.token)?;
                Some(now + expected_wait(attempt.offered_at + attempt.predicted, now))
            })
            .collect();
        ends.sort_unstable();
        let rounds = ahead.checked_div(ends.len())?;
        let slot = ends[ahead % ends.len()];
        Some(slot + job.spec.predicted.times(rounds as u64))
    }
}

#[derive(Debug, Default)]
struct Survey<'a> {
    free: Vec<&'a Worker>,
    busy: Vec<&'a Worker>,
    /// Has a slot, but too little cpu or memory left.
    crowded: Option<&'a Worker>,
    draining: Vec<WorkerId>,
    overloaded: Vec<WorkerId>,
    unreachable: Vec<WorkerId>,
    /// Workers that are there and can never run the job.
    unable: usize,
    nearest: Option<(Nearness, WorkerId, Lack)>,
}

/// How many of the checks a worker passes, and how close it is at the one that it fails.
type Nearness = (u8, u64);

impl Survey<'_> {
    fn unable(
        &mut self,
        worker: &Worker,
        lack: Lack,
        key: &KindKey,
        wanted: &crate::model::Requirements,
    ) {
        self.unable += 1;
        let nearness = match &lack {
            Lack::Receiver(_) => (0, 0),
            Lack::Role(_) => (1, 0),
            Lack::Capability(_) => {
                let has = |name: &&Name| key.capabilities.binary_search(name).is_ok();
                (2, wanted.capabilities.iter().filter(has).count() as u64)
            }
            Lack::Model(_) => (3, 0),
            Lack::Cpu { has, .. } => (4, u64::from(*has)),
            Lack::Memory { has, .. } => (5, *has),
        };
        if self.nearest.as_ref().is_none_or(|(best, _, _)| nearness > *best) {
            self.nearest = Some((nearness, worker.id().clone(), lack));
        }
    }

    fn why_nobody(self) -> Because {
        let Survey { draining, overloaded, unreachable, .. } = self;
        if !(draining.is_empty() && overloaded.is_empty() && unreachable.is_empty()) {
            return Because::Unavailable { draining, overloaded, unreachable };
        }
        match self.nearest {
            Some((_, nearest, lack)) => Because::Impossible { workers: self.unable, nearest, lack },
            None => Because::NoWorkers,
        }
    }
}
