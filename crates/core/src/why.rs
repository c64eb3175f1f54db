//! Why a job is where it is: what it waits for, its place, its expected start.
//!
//! Computed when asked, from the same state that decisions rest on. It walks all workers and at
//! most [`AHEAD_MAX`] waiting jobs.

mod keys;
mod many;
mod place;
mod queue;
mod sentence;
mod stranded;
mod survey;

use crate::index::groups::Lack;
use crate::model::{JobId, JobNo, Name, Phase, Target, Timestamp, WorkerId};
use crate::place::candidates::Wanted;
use crate::place::choose::Choice;
use crate::place::plan::Plan;
use crate::place::predictor::predictor;
use crate::state::{ALL_TYPES, Job, JobState, State, Worker};

pub use keys::FullKey;
pub use many::KeptAlike;
pub use place::{AHEAD_MAX, Place};
pub use survey::{Away, Fleet, Short};

/// What keeps a job; its `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub job: JobId,
    pub because: Because,
    /// The moment that it was asked at.
    pub now: Timestamp,
    /// Where it stands, once nothing but a worker is missing.
    pub place: Option<Place>,
    /// Who is there for it, once nothing but a worker is missing.
    pub fleet: Option<Fleet>,
    /// As things stand; none if nothing can be said.
    pub expected_start: Option<Timestamp>,
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
    /// One of its keys is at its limit.
    Key(FullKey),
    /// No worker is there at all.
    NoWorkers,
    /// No worker that is there can ever run it; this one comes nearest. It lacks something.
    Impossible { workers: usize, nearest: WorkerId, lacks: Vec<Lack> },
    /// The one worker that may run it is not registered.
    NoReceiver { receiver: WorkerId },
    /// Workers that could run it take no jobs now.
    Unavailable(Away),
    /// Every worker that can run it is busy; this one comes nearest to having room.
    Busy { workers: usize, nearest: WorkerId, short: Short, room_at: Timestamp },
    /// A worker has room, but a busy one is expected to finish the job sooner.
    Held { free: WorkerId, faster: WorkerId, until: Timestamp },
    /// A worker has room: the job is placed when the scheduler next looks.
    Next { worker: WorkerId },
    /// It is with a worker; two if it is hedged.
    Placed(Vec<Placement>),
    Ended {
        state: Box<JobState>,
        because: Option<JobId>,
        /// The key that was at its limit, if it was skipped for that.
        key: Option<Name>,
        at: Timestamp,
        retries: u32,
        crashes: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub worker: WorkerId,
    pub since: Timestamp,
    pub running: bool,
    pub hedge: bool,
}

impl Why {
    fn plain(job: JobId, because: Because, now: Timestamp) -> Why {
        Why { job, because, now, place: None, fleet: None, expected_start: None }
    }
}

impl State {
    /// Why the job is not further than it is.
    pub fn why(&self, no: JobNo, now: Timestamp) -> Why {
        let Some(job) = self.job(no) else {
            return Why::plain(JobId::fixed(&format!("number {no}")), Because::Unknown, now);
        };
        let id = job.spec.id.clone();
        match &job.state {
            JobState::Waiting { .. } => {
                let because = Because::Dependencies(self.open_dependencies(job));
                let expected_start = self.expected_ready(job, now);
                Why { expected_start, ..Why::plain(id, because, now) }
            }
            JobState::Delayed { until } => {
                let ended_attempts = job.counts.ended();
                let because = Because::Moment { until: *until, ended_attempts };
                Why { expected_start: Some(*until), ..Why::plain(id, because, now) }
            }
            JobState::Ready => self.why_ready(no, job, now),
            JobState::Active(attempts) => {
                let placement = |attempt: &crate::model::Attempt| Placement {
                    worker: self.expect_worker(attempt.worker).id().clone(),
                    since: attempt.phase.since(),
                    running: matches!(attempt.phase, Phase::Running { .. }),
                    hedge: attempt.hedge,
                };
                let placements = attempts.iter().map(placement).collect();
                Why::plain(id, Because::Placed(placements), now)
            }
            ended @ (JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. }) => Why::plain(id, self.ended(job, ended), now),
        }
    }

    fn open_dependencies(&self, job: &Job) -> Vec<(JobId, &'static str)> {
        let open = job.dependencies.iter().filter_map(|dependency| self.job(*dependency));
        let open = open.filter(|dependency| !dependency.state.has_ended());
        open.map(|dependency| (dependency.spec.id.clone(), dependency.state.status().as_str()))
            .collect()
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
            key: self.key_of_skipped(job, state),
            retries: job.spec.retries_of_taken(),
            crashes: job.counts.crashes,
        }
    }

    fn why_ready(&self, no: JobNo, job: &Job, now: Timestamp) -> Why {
        let survey = self.survey(job);
        let place = self.place(no, job, &survey.able);
        let because = self.what_keeps(no, job, &survey, now);
        let expected_start = match &because {
            Because::Busy { .. } => self.expected_start(job, &survey.able, place.ahead, now),
            Because::Held { until, .. } => Some(*until),
            Because::Key(full) => self.expected_turn(job, full, now),
            Because::Next { .. } => Some(now),
            _ => None,
        };
        Why {
            place: Some(place),
            fleet: Some(survey.fleet()),
            expected_start,
            ..Why::plain(job.spec.id.clone(), because, now)
        }
    }

    fn what_keeps(
        &self,
        no: JobNo,
        job: &Job,
        survey: &survey::Survey<'_>,
        now: Timestamp,
    ) -> Because {
        let class = self.index.classes.get(job.derived.class);
        if class.paused {
            let kind = &class.requirements.kind;
            let kind =
                if self.paused.contains(kind) { kind.clone() } else { Name::fixed(ALL_TYPES) };
            return Because::Paused { kind };
        }
        if let Target::Receiver(receiver) = &class.requirements.target
            && self.worker_no(receiver.as_str()).is_none()
        {
            return Because::NoReceiver { receiver: receiver.clone() };
        }
        if let Some(full) = self.full_key(no, job) {
            return Because::Key(full);
        }
        match survey.free.first() {
            Some(worker) => self.why_not_now(no, job, worker, now),
            None => self.who_comes_nearest(job, survey, now),
        }
    }

    /// There is room, and yet the job is not placed.
    fn why_not_now(&self, no: JobNo, job: &Job, free: &Worker, now: Timestamp) -> Because {
        let predictor = predictor(self.config.predictor);
        let usable = self.breaker.allows(now);
        let predictor = usable.then_some(predictor.as_ref());
        let wanted = Wanted { no, job, now, except: &[], predictor };
        let choice = self.choose(&wanted, !usable, &mut Plan::default());
        if let Ok(Choice::Hold { group, until }) = choice
            && let Some((_, holder, token)) = self.index.groups.get(group).coming_free(now).next()
            && let Some(attempt) = self.job(holder).and_then(|job| job.attempt(token))
        {
            let faster = self.expect_worker(attempt.worker).id().clone();
            return Because::Held { free: free.id().clone(), faster, until };
        }
        Because::Next { worker: free.id().clone() }
    }
}
