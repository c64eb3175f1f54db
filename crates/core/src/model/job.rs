//! A job as it is submitted, and as it is kept.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{JobId, JobNo, Micros, Name, RunId, Timestamp, TraceParent, WorkerId};
use crate::words;

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

impl Priority {
    /// 25, 50, 75 or 100.
    pub fn points(self) -> u32 {
        match self {
            Priority::Low => 25,
            Priority::Normal => 50,
            Priority::High => 75,
            Priority::Critical => 100,
        }
    }
}

words!(Priority: Low => "low", Normal => "normal", High => "high", Critical => "critical");

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Guarantee {
    /// One dispatch, no retry, no hedge.
    AtMostOnce,
    /// Acknowledged, retried, hedged.
    #[default]
    AtLeastOnce,
    /// A claim is granted before the job starts, and one result is committed.
    ExactlyOnce,
}

words!(
    Guarantee:
    AtMostOnce => "at_most_once", AtLeastOnce => "at_least_once", ExactlyOnce => "exactly_once",
);

/// What a job does when a dependency of its did not complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnFailure {
    /// It is skipped, and so is what depends on it.
    #[default]
    Skip,
    /// It runs once all its dependencies have ended, however they ended.
    Run,
}

words!(OnFailure: Skip => "skip", Run => "run");

/// Who may run a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    #[default]
    Any,
    Role(Name),
    Receiver(WorkerId),
}

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Resources {
    /// Millicores.
    pub cpu: u32,
    /// Bytes.
    pub memory: u64,
}

/// What a worker must have to run a job. Jobs with equal requirements form one class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Requirements {
    /// The job's type.
    pub kind: Name,
    pub target: Target,
    pub resources: Resources,
    /// Sorted, without repeats.
    pub capabilities: Box<[Name]>,
    pub model: Option<Name>,
}

/// What a job asks for once its retries are used up: one more round of them, elsewhere or sooner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Escalation {
    pub priority: Option<Priority>,
    pub role: Option<Name>,
}

/// A job as an edge hands it in: parsed, its own fields valid, nothing yet checked against the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    pub id: JobId,
    /// Its name in the run; the id if none.
    pub node: Option<Name>,
    pub requirements: Requirements,
    pub priority: Priority,
    pub payload: Bytes,
    pub dependencies: Vec<JobId>,
    /// The configured default if none.
    pub timeout: Option<Micros>,
    /// The configured default if none.
    pub retry: Option<u32>,
    pub sender: Option<Name>,
    pub guarantee: Guarantee,
    pub idempotency_key: Option<Name>,
    /// Counted from the submission; the later of this and `not_before` holds.
    pub delay: Micros,
    pub not_before: Timestamp,
    pub tags: Vec<Name>,
    pub on_failure: OnFailure,
    pub escalation: Option<Escalation>,
    /// How much data the job works on, where that is not its payload: a hint for predictions.
    pub input_bytes: Option<u64>,
    pub trace_parent: Option<TraceParent>,
}

impl NewJob {
    /// A job with every default.
    pub fn new(id: JobId, kind: Name) -> NewJob {
        NewJob {
            id,
            node: None,
            requirements: Requirements {
                kind,
                target: Target::Any,
                resources: Resources::default(),
                capabilities: Box::default(),
                model: None,
            },
            priority: Priority::Normal,
            payload: Bytes::new(),
            dependencies: Vec::new(),
            timeout: None,
            retry: None,
            sender: None,
            guarantee: Guarantee::AtLeastOnce,
            idempotency_key: None,
            delay: Micros::ZERO,
            not_before: Timestamp(0),
            tags: Vec::new(),
            on_failure: OnFailure::Skip,
            escalation: None,
            input_bytes: None,
            trace_parent: None,
        }
    }
}

/// How a dependency ended that the core has already forgotten; the edge knows from the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    Completed,
    NotCompleted,
}

/// Jobs handed in together: all are taken, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The name of the run; for a single job it may be left out.
    pub run: Option<RunId>,
    pub jobs: Vec<NewJob>,
    /// Ends of dependencies that the core no longer knows.
    pub settled: Vec<(JobId, Settlement)>,
}

impl Submission {
    pub fn one(job: NewJob) -> Submission {
        Submission { run: None, jobs: vec![job], settled: Vec::new() }
    }
}

/// A job as it was taken: defaults filled in, dependencies resolved to numbers. It never changes
/// and is shared by the state, the journal batch and the offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    pub id: JobId,
    pub node: Option<Name>,
    pub requirements: Arc<Requirements>,
    pub priority: Priority,
    pub guarantee: Guarantee,
    pub on_failure: OnFailure,
    pub payload: Bytes,
    /// Those that had not ended at submission.
    pub dependencies: Box<[JobNo]>,
    pub timeout: Micros,
    pub retry: u32,
    pub sender: Option<Name>,
    pub idempotency_key: Option<Name>,
    pub not_before: Timestamp,
    pub tags: Box<[Name]>,
    pub escalation: Option<Box<Escalation>>,
    pub input_bytes: u64,
    /// The predicted duration when it was submitted, which its rank is made of.
    pub predicted: Micros,
    /// Its place in the order of ready jobs: lower goes first.
    pub rank: i64,
    /// A dependency had already ended without completing.
    pub doomed: bool,
    /// Where it belongs in a trace; a snapshot keeps it apart.
    #[serde(skip)]
    pub trace_parent: Option<Box<TraceParent>>,
}

// A million jobs wait: a byte more of each is a megabyte.
const _: () = assert!(size_of::<JobSpec>() <= 256);

impl JobSpec {
    pub fn kind(&self) -> &Name {
        &self.requirements.kind
    }
}
