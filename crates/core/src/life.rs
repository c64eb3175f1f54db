//! The life of a job, as an entry of the journal tells it: which jobs it brings into which state,
//! what it does to an attempt, and what counts against the job.
//!
//! Whoever follows the journal reads it here and needs no engine for it. What the event's own fields
//! do not determine, such as which dependents its end lets go, `apply` publishes in the entry.

use serde::{Deserialize, Serialize};

use crate::event::{Decision, Entry, Event};
use crate::model::{
    AcceptedJob, FailureCause, JobNo, JobStatus, RevokeReason, Timestamp, Token, WorkerNo,
};

/// A job that an event brought into another state, where the event alone does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    pub job: JobNo,
    pub to: JobStatus,
}

/// A job comes into a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition<'a> {
    pub job: JobNo,
    /// Where the entry tells; a job that is new comes from nowhere.
    pub from: Option<JobStatus>,
    pub to: JobStatus,
    /// The event that did it, which may be about another job.
    pub why: &'a Event,
}

/// Something happens to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptStep<'a> {
    pub job: JobNo,
    pub token: Token,
    pub what: AttemptChange<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptChange<'a> {
    Offered { worker: WorkerNo, hedge: bool, decision: &'a Decision },
    Started,
    Ended(AttemptEnd<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd<'a> {
    Completed { result_hash: &'a [u8; 32] },
    Failed { cause: FailureCause, error: &'a str },
    Revoked { reason: RevokeReason },
}

/// What counts against a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Attempts that the job itself failed, in this round of retries.
    pub failures: u32,
    /// Attempts that ended with their worker.
    pub crashes: u32,
    /// Attempts that never started.
    pub returns: u32,
}

impl Counts {
    /// Attempts that ended without a result.
    pub fn ended(self) -> u32 {
        self.failures + self.crashes + self.returns
    }

    /// What an event of the job makes of them.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::AttemptFailed { cause: FailureCause::WorkerLost, .. } => self.crashes += 1,
            Event::AttemptFailed { cause, .. } if cause.counts_against_job() => self.failures += 1,
            Event::AttemptFailed { .. } => self.returns += 1,
            Event::Escalated { .. } => self.failures = 0,
            Event::Reopened { .. } => *self = Counts::default(),
            _ => {}
        }
    }
}

impl Entry {
    /// Every job that it brings into a state, in order.
    pub fn transitions(&self) -> impl Iterator<Item = Transition<'_>> {
        let why = &self.event;
        let (first, jobs) = match why {
            Event::Submitted { first, jobs, .. } => (first.0, &jobs[..]),
            _ => (0, &[][..]),
        };
        let taken = jobs.iter().zip(first..).map(|(job, no)| Transition {
            job: JobNo(no),
            from: None,
            to: self.moved_to(JobNo(no)).unwrap_or_else(|| job.status_at(self.at)),
            why,
        });
        let own = self.own_transition();
        let own = own.map(|(job, from, to)| Transition { job, from, to, why });
        let others = if jobs.is_empty() { &self.moved[..] } else { &[] };
        let moved = others.iter().map(|moved| Transition {
            job: moved.job,
            // A job that starts over comes from wherever it had ended.
            from: (why.job() != Some(moved.job)).then_some(JobStatus::Waiting),
            to: moved.to,
            why,
        });
        taken.chain(own).chain(moved)
    }

    /// Where the event alone does not tell.
    fn moved_to(&self, job: JobNo) -> Option<JobStatus> {
        self.moved.iter().find(|moved| moved.job == job).map(|moved| moved.to)
    }

    /// Of the job that the event is about, where the event's own fields tell.
    fn own_transition(&self) -> Option<(JobNo, Option<JobStatus>, JobStatus)> {
        let (from, to) = match &self.event {
            Event::Assigned { hedge: false, .. } => (Some(JobStatus::Ready), JobStatus::Offered),
            Event::Started { .. } | Event::Granted { .. } => {
                (Some(JobStatus::Offered), JobStatus::Running)
            }
            Event::Completed { .. } => (None, JobStatus::Completed),
            Event::HandedOff { .. } => (None, JobStatus::Ready),
            Event::Retried { not_before, .. } => (None, JobStatus::queued(*not_before, self.at)),
            Event::Due { .. } => (Some(JobStatus::Delayed), JobStatus::Ready),
            Event::Escalated { .. } => (None, JobStatus::Ready),
            Event::DeadLettered { .. } => (None, JobStatus::DeadLettered),
            Event::Failed { .. } => (None, JobStatus::Failed),
            Event::Skipped { .. } => (Some(JobStatus::Waiting), JobStatus::Skipped),
            Event::SkippedByKey { .. } => (None, JobStatus::Skipped),
            Event::Cancelled { .. } => (None, JobStatus::Cancelled),
            // Journals of before it was published do not say: nearly all of these were ready.
            Event::Reopened { .. } if self.moved.is_empty() => (None, JobStatus::Ready),
            Event::Reopened { .. }
            | Event::Assigned { hedge: true, .. }
            | Event::Submitted { .. }
            | Event::Progressed { .. }
            // What becomes of the job follows in its own event, unless its hedge goes on.
            | Event::AttemptFailed { .. }
            | Event::Revoked { .. }
            | Event::Pinned { .. }
            | Event::WorkerJoined { .. }
            | Event::WorkerReturned { .. }
            | Event::WorkerReported { .. }
            | Event::WorkerDraining { .. }
            | Event::WorkerUndrained { .. }
            | Event::WorkerLost { .. }
            | Event::WorkerLeft { .. }
            | Event::WorkerSilent { .. }
            | Event::WorkerHeard { .. }
            | Event::ModelLoaded { .. }
            | Event::WorkerInvited { .. }
            | Event::WorkerKeyBound { .. }
            | Event::WorkerKeyRotated { .. }
            | Event::WorkerKeyRevoked { .. }
            | Event::Paused { .. }
            | Event::Unpaused { .. }
            | Event::Configured { .. }
            | Event::PredictorFailed { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed
            | Event::DriftDetected { .. }
            | Event::Warmed { .. }
            | Event::TermsExtended { .. }
            | Event::ActorNamed { .. }
            | Event::Checkpointed { .. }
            | Event::ClockStepped { .. }
            | Event::Noted { .. } => return None,
        };
        Some((self.event.job()?, from, to))
    }

    /// What it does to an attempt, if it does.
    pub fn attempt(&self) -> Option<AttemptStep<'_>> {
        let (job, token, what) = match &self.event {
            Event::Assigned { job, worker, hedge, decision } => {
                let offered = AttemptChange::Offered { worker: *worker, hedge: *hedge, decision };
                (job, Token::from(self.seq), offered)
            }
            Event::Started { job, token } | Event::Granted { job, token } => {
                (job, *token, AttemptChange::Started)
            }
            Event::Completed { job, token, result_hash, .. } => {
                (job, *token, AttemptChange::Ended(AttemptEnd::Completed { result_hash }))
            }
            Event::AttemptFailed { job, token, cause, error } => {
                (job, *token, AttemptChange::Ended(AttemptEnd::Failed { cause: *cause, error }))
            }
            Event::Revoked { job, token, reason } => {
                (job, *token, AttemptChange::Ended(AttemptEnd::Revoked { reason: *reason }))
            }
            Event::HandedOff { job, token, .. } => {
                let reason = RevokeReason::HandedOff;
                (job, *token, AttemptChange::Ended(AttemptEnd::Revoked { reason }))
            }
            _ => return None,
        };
        Some(AttemptStep { job: *job, token, what })
    }
}

impl AttemptEnd<'_> {
    pub fn as_str(&self) -> &'static str {
        match self {
            AttemptEnd::Completed { .. } => "completed",
            AttemptEnd::Failed { .. } => "failed",
            AttemptEnd::Revoked { .. } => "revoked",
        }
    }

    pub fn error(&self) -> &str {
        match self {
            AttemptEnd::Failed { error, .. } => error,
            AttemptEnd::Completed { .. } | AttemptEnd::Revoked { .. } => "",
        }
    }

    pub fn result_hash(&self) -> Option<&[u8; 32]> {
        match self {
            AttemptEnd::Completed { result_hash } => Some(result_hash),
            AttemptEnd::Failed { .. } | AttemptEnd::Revoked { .. } => None,
        }
    }

    /// Why it did not complete; nothing if it did.
    pub fn cause(&self) -> &'static str {
        match self {
            AttemptEnd::Completed { .. } => "",
            AttemptEnd::Failed { cause, .. } => cause.as_str(),
            AttemptEnd::Revoked { reason } => reason.as_str(),
        }
    }
}

impl AcceptedJob {
    /// The state in which the job is taken.
    pub(crate) fn status_at(&self, at: Timestamp) -> JobStatus {
        match self.dependencies.is_empty() && !self.doomed {
            true => JobStatus::queued(self.spec.extras().not_before, at),
            false => JobStatus::Waiting,
        }
    }
}
