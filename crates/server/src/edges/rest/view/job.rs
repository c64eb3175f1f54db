//! A job: what was asked for, and what became of it.

use bellwether_core::model::{Guarantee, Priority};
use bellwether_wire::json::code::{self, AttemptState, Cause, Code, JobState};
use bellwether_wire::json::job::payload_to_json;
use bellwether_wire::json::unit::{Moment, moment, seconds, text};
use bellwether_wire::json::{Decision, hex};
use bellwether_wire::{Mirror as _, v1};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A job with what became of it. Lists leave out payload, result and attempts.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Job {
    id: String,
    /// In the order of submission, never reused.
    number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
    r#type: String,
    priority: code::Priority,
    guarantee: code::Guarantee,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// Its name in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// As JSON if it is that, as text if it is that, else in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value)]
    payload: Option<Value>,
    /// Ids, as far as they are known.
    dependencies: Vec<String>,
    /// Seconds.
    timeout: f64,
    retry: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// Millicores.
    cpu: u32,
    /// Bytes.
    memory: u64,
    capabilities: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Moment>,
    submitted_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Moment>,
    failures: u32,
    /// Workers that died with it.
    crashes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    attempts: Vec<Attempt>,
    /// As JSON if it is that, as text if it is that, else in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value)]
    result: Option<Value>,
    /// Blake3, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_hash: Option<String>,
    /// Why it ended, or why it is not running yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
    /// Of its last event.
    position: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct Progress {
    permille: u32,
    note: String,
}

/// One placement of the job on one worker.
#[derive(Debug, Serialize, ToSchema)]
struct Attempt {
    /// Its fencing token: the journal position of its assignment.
    token: u64,
    worker: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<AttemptState>,
    /// A second offer, because the first worker was quiet.
    hedge: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
}

/// Some of the jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct JobPage {
    pub(in crate::edges::rest) jobs: Vec<Job>,
    /// Ask again with this as `cursor` for those that follow; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::edges::rest) next_cursor: Option<String>,
}

impl From<v1::ListJobsResponse> for JobPage {
    fn from(page: v1::ListJobsResponse) -> JobPage {
        JobPage {
            jobs: page.jobs.into_iter().map(Job::from).collect(),
            next_cursor: text(page.next_cursor),
        }
    }
}

impl From<v1::Job> for Job {
    fn from(job: v1::Job) -> Job {
        let state = Code::from_wire(job.state);
        let spec = job.spec.unwrap_or_default();
        let wants = spec.requirements.unwrap_or_default();
        let progressed = job.progress_permille > 0 || !job.progress_note.is_empty();
        Job {
            id: spec.id,
            number: job.job,
            state,
            r#type: wants.r#type,
            priority: Code(Priority::from_wire(spec.priority).unwrap_or_default()),
            guarantee: Code(Guarantee::from_wire(spec.guarantee).unwrap_or_default()),
            run: text(job.run_id),
            node: text(spec.node),
            payload: bytes(&spec.payload),
            dependencies: job.dependencies,
            timeout: seconds(spec.timeout),
            retry: spec.retry,
            sender: text(spec.sender),
            receiver: text(wants.receiver),
            role: text(wants.role),
            cpu: wants.cpu,
            memory: wants.memory,
            capabilities: wants.capabilities,
            model: text(wants.model),
            tags: spec.tags,
            idempotency_key: text(spec.idempotency_key),
            not_before: moment(spec.not_before),
            submitted_at: moment(job.submitted_at),
            started_at: moment(job.started_at),
            ended_at: moment(job.ended_at),
            failures: job.failures,
            crashes: job.crashes,
            progress: progressed
                .then_some(Progress { permille: job.progress_permille, note: job.progress_note }),
            attempts: job.attempts.into_iter().map(Attempt::from).collect(),
            result: bytes(&job.result),
            result_hash: text(hex(&job.result_hash)),
            explanation: text(job.explanation),
            position: job.position,
        }
    }
}

impl From<v1::AttemptView> for Attempt {
    fn from(attempt: v1::AttemptView) -> Attempt {
        let attempt_state = attempt.state();
        Attempt {
            token: attempt.token,
            cause: Code::from_wire(attempt.cause),
            worker: attempt.worker,
            state: Code::known(attempt_state),
            hedge: attempt.hedge,
            offered_at: moment(attempt.offered_at),
            started_at: moment(attempt.started_at),
            ended_at: moment(attempt.ended_at),
            error: text(attempt.error),
            decision: attempt.decision.map(Decision::from),
        }
    }
}

fn bytes(bytes: &[u8]) -> Option<Value> {
    (!bytes.is_empty()).then(|| payload_to_json(bytes))
}
