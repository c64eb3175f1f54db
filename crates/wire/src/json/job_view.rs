//! A job with what became of it, as REST and the command line show it.

use bellwether_core::model::JobSpec;
use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::json;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::code::{AttemptState, Cause, Code, JobState};
use super::form::{Side, properties, wrap};
use super::unit::{Moment, moment, text};
use super::written::{Carried, Payload, WrittenJob};
use super::{Decision, hex};
use crate::job::taken_job_from_wire;
use crate::v1;

/// The fields that the job was submitted with, and what became of it. Lists leave out payload,
/// result and attempts.
#[derive(Debug, serde::Serialize)]
pub struct Job {
    #[serde(flatten)]
    spec: Spec,
    #[serde(flatten)]
    life: Life,
}

#[derive(Debug)]
enum Spec {
    Known(Box<JobSpec>),
    /// A scheduler of another version may say more than we can read; the id is always there.
    Unknown {
        id: String,
    },
}

/// A job with what became of it. Lists leave out payload, result and attempts.
#[derive(Debug, serde::Serialize, ToSchema)]
struct Life {
    /// In the order of submission, never reused.
    number: u64,
    state: Option<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
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
    #[schema(value_type = serde_json::Value)]
    result: Option<Shown>,
    /// Blake3, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_hash: Option<String>,
    /// Why it ended, or why it is not running yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
    /// Of its last event.
    position: u64,
    /// By the name of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_by: Option<String>,
    /// Who last cancelled, retried or pinned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
}

#[derive(Debug)]
struct Shown(Bytes);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Carried::shown(&self.0).serialize(serializer)
    }
}

#[derive(Debug, serde::Serialize, ToSchema)]
struct Progress {
    permille: u32,
    note: String,
}

/// One placement of the job on one worker.
#[derive(Debug, serde::Serialize, ToSchema)]
struct Attempt {
    /// Its fencing token: the journal position of its assignment.
    token: u64,
    worker: String,
    state: Option<AttemptState>,
    /// A second offer, because the first worker was quiet.
    hedge: bool,
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
#[derive(Debug, serde::Serialize, ToSchema)]
pub struct JobPage {
    pub jobs: Vec<Job>,
    /// Ask again with this as `cursor` for those that follow; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
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
        let spec = match taken_job_from_wire(&spec) {
            Ok(known) => Spec::Known(Box::new(known)),
            Err(_) => Spec::Unknown { id: spec.id },
        };
        let progressed = job.progress_permille > 0 || !job.progress_note.is_empty();
        let life = Life {
            number: job.job,
            state,
            run: text(job.run_id),
            submitted_at: moment(job.submitted_at),
            started_at: moment(job.started_at),
            ended_at: moment(job.ended_at),
            failures: job.failures,
            crashes: job.crashes,
            progress: progressed
                .then_some(Progress { permille: job.progress_permille, note: job.progress_note }),
            attempts: job.attempts.into_iter().map(Attempt::from).collect(),
            result: (!job.result.is_empty()).then_some(Shown(job.result)),
            result_hash: text(hex(&job.result_hash)),
            explanation: text(job.explanation),
            position: job.position,
            submitted_by: text(job.submitted_by),
            changed_by: text(job.changed_by),
        };
        Job { spec, life }
    }
}

impl From<v1::AttemptView> for Attempt {
    fn from(attempt: v1::AttemptView) -> Attempt {
        Attempt {
            token: attempt.token,
            state: Code::known(attempt.state()),
            cause: Code::from_wire(attempt.cause),
            worker: attempt.worker,
            hedge: attempt.hedge,
            offered_at: moment(attempt.offered_at),
            started_at: moment(attempt.started_at),
            ended_at: moment(attempt.ended_at),
            error: text(attempt.error),
            decision: attempt.decision.map(Decision::from),
        }
    }
}

impl Serialize for Spec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Spec::Known(spec) => WrittenJob { spec, payload: Payload::Shown }.serialize(serializer),
            Spec::Unknown { id } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("id", id)?;
                map.end()
            }
        }
    }
}

impl ToSchema for Job {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Life::schemas(schemas);
    }
}

impl PartialSchema for Job {
    fn schema() -> RefOr<Schema> {
        let mut schema = serde_json::to_value(Life::schema()).expect("a schema is JSON");
        for (name, described) in properties(Side::Writes) {
            schema["properties"][name] = described;
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.extend(["id", "type", "priority", "guarantee"].map(|name| json!(name)));
        }
        wrap(schema)
    }
}
