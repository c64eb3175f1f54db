//! Why a job is where it is.

use bellwether_core::model::{FailureCause, RevokeReason};
use bellwether_wire::json::event::{cause_name, revoke_name};
use bellwether_wire::{Mirror as _, v1};
use serde::Serialize;
use utoipa::ToSchema;

use super::decisions::ExplainedDecision;
use super::job::text;
use super::{JobState, moment, seconds};

/// Why a job is where it is.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Explanation {
    id: String,
    /// 0 if every submission of this id was refused.
    number: u64,
    state: Option<JobState>,
    r#type: String,
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
    #[schema(format = "date-time")]
    submitted_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    ended_at: Option<String>,
    /// Of its last event.
    position: u64,
}

/// What a job waits for.
#[derive(Debug, Serialize, ToSchema)]
struct WaitingFor {
    /// Stable, for programs: dependencies, delay, backoff, paused, no_workers, no_receiver,
    /// missing_role, missing_capability, missing_model, cpu_too_small, memory_too_small, draining,
    /// overloaded, unreachable, unavailable, slots, cpu, memory, held or next.
    reason: String,
    /// That have not ended, at most 100.
    dependencies: Vec<OpenDependency>,
    /// The end of the delay or backoff, or when the faster worker is expected to be free.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    until: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestWorker>,
    /// Jobs that go first, as far as they compete for the same workers.
    ahead: u32,
    /// Those among them that ask for just the same.
    ahead_in_class: u32,
    /// As things stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    expected_start: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct OpenDependency {
    id: String,
    state: Option<JobState>,
}

/// The worker that comes nearest to running the job, and what keeps it.
#[derive(Debug, Serialize, ToSchema)]
struct NearestWorker {
    worker: String,
    lacks: Vec<Shortage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    available_at: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Shortage {
    /// role, capability, model, cpu, memory, slots, or what it is: draining, overloaded,
    /// unreachable, slower.
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Millicores, bytes or slots.
    wanted: u64,
    has: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct RefusedSubmission {
    #[schema(format = "date-time")]
    at: Option<String>,
    code: String,
    detail: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct ExplainedAttempt {
    token: u64,
    worker: String,
    /// offered, running, completed, failed or revoked.
    state: String,
    hedge: bool,
    #[schema(format = "date-time")]
    offered_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    ended_at: Option<String>,
    /// How it ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<ExplainedDecision>,
    /// Seconds from the offer to the start, as it was.
    actual_wait: f64,
    /// Seconds from the start to the end, as it was.
    actual_duration: f64,
}

impl From<v1::Explanation> for Explanation {
    fn from(told: v1::Explanation) -> Explanation {
        let state = JobState::from_wire(told.state());
        Explanation {
            id: told.id,
            number: told.job,
            state,
            r#type: told.r#type,
            run: text(told.run_id),
            summary: told.summary,
            waiting_for: told.waiting_for.map(WaitingFor::from),
            attempts: told.attempts.into_iter().map(ExplainedAttempt::from).collect(),
            refused: told.refused.map(RefusedSubmission::from),
            submitted_at: moment(told.submitted_at),
            started_at: moment(told.started_at),
            ended_at: moment(told.ended_at),
            position: told.position,
        }
    }
}

impl From<v1::WaitingFor> for WaitingFor {
    fn from(told: v1::WaitingFor) -> WaitingFor {
        let dependency = |open: v1::OpenDependency| OpenDependency {
            state: JobState::from_wire(open.state()),
            id: open.id,
        };
        let shortage = |lack: v1::Shortage| Shortage {
            what: lack.what,
            name: text(lack.name),
            wanted: lack.wanted,
            has: lack.has,
        };
        WaitingFor {
            reason: told.reason,
            dependencies: told.dependencies.into_iter().map(dependency).collect(),
            until: moment(told.until),
            paused_type: text(told.paused_type),
            receiver: text(told.receiver),
            workers: told.workers,
            able: told.able,
            draining: told.draining,
            overloaded: told.overloaded,
            unreachable: told.unreachable,
            nearest: told.nearest.map(|nearest| NearestWorker {
                worker: nearest.worker,
                lacks: nearest.lacks.into_iter().map(shortage).collect(),
                available_at: moment(nearest.available_at),
            }),
            ahead: told.ahead,
            ahead_in_class: told.ahead_in_class,
            expected_start: moment(told.expected_start),
        }
    }
}

impl From<v1::RefusedSubmission> for RefusedSubmission {
    fn from(told: v1::RefusedSubmission) -> RefusedSubmission {
        let rejection = told.rejection.unwrap_or_default();
        let at = moment(told.at);
        RefusedSubmission { at, code: rejection.code, detail: rejection.message }
    }
}

impl From<v1::ExplainedAttempt> for ExplainedAttempt {
    fn from(told: v1::ExplainedAttempt) -> ExplainedAttempt {
        ExplainedAttempt {
            token: told.token,
            cause: FailureCause::from_wire(told.cause).map(cause_name),
            revoked: RevokeReason::from_wire(told.revoked).map(revoke_name),
            worker: told.worker,
            state: told.state,
            hedge: told.hedge,
            offered_at: moment(told.offered_at),
            started_at: moment(told.started_at),
            ended_at: moment(told.ended_at),
            ending: text(told.ending),
            error: text(told.error),
            decision: told.decision.map(ExplainedDecision::from),
            actual_wait: seconds(told.actual_wait),
            actual_duration: seconds(told.actual_duration),
        }
    }
}
