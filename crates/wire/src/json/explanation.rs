//! Why a job is where it is.

use serde::Serialize;
use utoipa::ToSchema;

use super::code::{AttemptState, Cause, Code, JobState, Revoked, WaitReason, What};
use super::decision::ExplainedDecision;
use super::unit::{Moment, moment, seconds, text};
use crate::v1;

/// Why a job is where it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explanation {
    id: String,
    /// Absent if every submission of this id was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// In a sentence or two.
    summary: String,
    /// Until it is placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for: Option<WaitingFor>,
    /// Oldest first.
    attempts: Vec<ExplainedAttempt>,
    /// The latest refused submission of this id, as long as it is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedSubmission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Moment>,
    /// When this was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<Moment>,
    /// Of its last event.
    position: u64,
    /// By the name of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_by: Option<String>,
    /// Who last cancelled, retried or pinned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    /// Of an array: its jobs, those together that are kept by the same. The most come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    array: Vec<ArrayPart>,
}

/// Jobs of an array that are in one state, and wait for one thing if they wait.
#[derive(Debug, Serialize, ToSchema)]
struct ArrayPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<WaitReason>,
    jobs: u64,
    /// One of those that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Why it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
}

/// What a job waits for.
#[derive(Debug, Serialize, ToSchema)]
struct WaitingFor {
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<WaitReason>,
    /// That have not ended, at most 100.
    dependencies: Vec<OpenDependency>,
    /// The end of the delay or backoff, or when the faster worker is expected to be free.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_type: Option<String>,
    /// The one worker that may run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<String>,
    /// Workers that are there.
    workers: u32,
    /// Those among them that could run it if they had room.
    able: u32,
    draining: Vec<String>,
    overloaded: Vec<String>,
    unreachable: Vec<String>,
    /// Those that did not answer their last offers: they are given nothing until they speak.
    silent: Vec<String>,
    /// The concurrency key that is at its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyAtLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestWorker>,
    /// Jobs that go first, as far as they compete for the same workers.
    ahead: u32,
    /// Those among them that ask for just the same.
    ahead_in_class: u32,
    /// Attempts that ended without a result.
    ended_attempts: u32,
    /// As things stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_start: Option<Moment>,
}

/// A concurrency key that has no room for a job.
#[derive(Debug, Serialize, ToSchema)]
struct KeyAtLimit {
    key: String,
    /// How much of it is taken.
    used: u64,
    /// How much may be for the job to start.
    limit: u64,
    /// Jobs that have it, oldest first, at most 100.
    holders: Vec<String>,
    /// Ready jobs of the key that go first.
    ahead: u32,
}

#[derive(Debug, Serialize, ToSchema)]
struct OpenDependency {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
}

/// The worker that comes nearest to running the job, and what keeps it.
#[derive(Debug, Serialize, ToSchema)]
struct NearestWorker {
    worker: String,
    lacks: Vec<Shortage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_at: Option<Moment>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Shortage {
    /// What there is too little of, or what the worker is.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<What>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Millicores, bytes or slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RefusedSubmission {
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Moment>,
    code: String,
    detail: String,
    /// Seconds after which trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ExplainedAttempt {
    token: u64,
    worker: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<AttemptState>,
    hedge: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Moment>,
    /// How it ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<Revoked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<ExplainedDecision>,
    /// Seconds from the offer to the start, as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_wait: Option<f64>,
    /// Seconds from the start to the end, as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_duration: Option<f64>,
}

impl From<v1::Explanation> for Explanation {
    fn from(told: v1::Explanation) -> Explanation {
        let state = Code::from_wire(told.state);
        Explanation {
            id: told.id,
            number: (told.job > 0).then_some(told.job),
            state,
            r#type: text(told.r#type),
            run: text(told.run_id),
            summary: told.summary,
            waiting_for: told.waiting_for.map(WaitingFor::from),
            attempts: told.attempts.into_iter().map(ExplainedAttempt::from).collect(),
            refused: told.refused.map(RefusedSubmission::from),
            submitted_at: moment(told.submitted_at),
            started_at: moment(told.started_at),
            ended_at: moment(told.ended_at),
            now: moment(told.now),
            position: told.position,
            submitted_by: text(told.submitted_by),
            changed_by: text(told.changed_by),
            array: told.array.into_iter().map(ArrayPart::from).collect(),
        }
    }
}

impl From<v1::ArrayPart> for ArrayPart {
    fn from(part: v1::ArrayPart) -> ArrayPart {
        ArrayPart {
            state: Code::from_wire(part.state),
            reason: Code::known(part.reason()),
            jobs: part.jobs,
            id: text(part.id),
            summary: text(part.summary),
        }
    }
}

impl From<v1::WaitingFor> for WaitingFor {
    fn from(told: v1::WaitingFor) -> WaitingFor {
        let dependency = |open: v1::OpenDependency| OpenDependency {
            state: Code::from_wire(open.state),
            id: open.id,
        };
        let shortage = |lack: v1::Shortage| Shortage {
            what: Code::known(lack.what()),
            name: text(lack.name),
            wanted: (lack.wanted > 0).then_some(lack.wanted),
            has: (lack.wanted > 0).then_some(lack.has),
        };
        WaitingFor {
            reason: Code::known(told.reason()),
            dependencies: told.dependencies.into_iter().map(dependency).collect(),
            until: moment(told.until),
            paused_type: text(told.paused_type),
            receiver: text(told.receiver),
            workers: told.workers,
            able: told.able,
            draining: told.draining,
            overloaded: told.overloaded,
            unreachable: told.unreachable,
            silent: told.silent,
            key: told.key.map(|full| KeyAtLimit {
                key: full.key,
                used: full.used,
                limit: full.limit,
                holders: full.holders,
                ahead: full.ahead,
            }),
            nearest: told.nearest.map(|nearest| NearestWorker {
                worker: nearest.worker,
                lacks: nearest.lacks.into_iter().map(shortage).collect(),
                available_at: moment(nearest.available_at),
            }),
            ahead: told.ahead,
            ahead_in_class: told.ahead_in_class,
            ended_attempts: told.ended_attempts,
            expected_start: moment(told.expected_start),
        }
    }
}

impl From<v1::RefusedSubmission> for RefusedSubmission {
    fn from(told: v1::RefusedSubmission) -> RefusedSubmission {
        let rejection = told.rejection.unwrap_or_default();
        RefusedSubmission {
            at: moment(told.at),
            code: rejection.code,
            detail: rejection.message,
            retry_after: (rejection.retry_after > 0).then(|| seconds(rejection.retry_after)),
        }
    }
}

impl From<v1::ExplainedAttempt> for ExplainedAttempt {
    fn from(told: v1::ExplainedAttempt) -> ExplainedAttempt {
        ExplainedAttempt {
            state: Code::known(told.state()),
            token: told.token,
            cause: Code::from_wire(told.cause),
            revoked: Code::from_wire(told.revoked),
            worker: told.worker,
            hedge: told.hedge,
            offered_at: moment(told.offered_at),
            started_at: moment(told.started_at),
            ended_at: moment(told.ended_at),
            ending: text(told.ending),
            error: text(told.error),
            decision: told.decision.map(ExplainedDecision::from),
            actual_wait: (told.started_at > 0).then(|| seconds(told.actual_wait)),
            actual_duration: (told.started_at > 0 && told.ended_at > 0)
                .then(|| seconds(told.actual_duration)),
        }
    }
}
