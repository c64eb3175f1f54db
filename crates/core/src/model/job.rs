//! What a job is.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    JobId, JobNo, KeySet, KeyUse, KeysSeen, Micros, Name, RunId, Timestamp, TraceParent, WallAhead,
    WorkerId,
};
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

/// What a job is: asked for when it is submitted, and from then on recorded, offered and shown. It
/// never changes once it is taken, and is shared by the state, the journal batch and the offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    pub id: JobId,
    /// Its name in the run; the id if none.
    pub node: Option<Name>,
    /// Jobs of a class share them.
    pub requirements: Arc<Requirements>,
    pub priority: Priority,
    pub guarantee: Guarantee,
    pub on_failure: OnFailure,
    pub payload: Bytes,
    pub dependencies: Box<[JobId]>,
    /// None until it is taken is the configured default, which it then has.
    pub timeout: Option<Micros>,
    /// The same.
    pub retry: Option<u32>,
    pub sender: Option<Name>,
    pub idempotency_key: Option<Name>,
    pub tags: Box<[Name]>,
    /// What few jobs say, kept apart because a million jobs wait. None if they say none of it.
    pub aside: Option<Box<Aside>>,
}

/// What few jobs say. Those with keys are many where there are any, so they don't pay for the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    keys: Option<Arc<KeySet>>,
    extras: Option<Box<Extras>>,
}

// A job with a key carries it.
const _: () = assert!(size_of::<Aside>() == 16);

impl Aside {
    /// Kept only if it says something.
    pub fn boxed(keys: Option<Arc<KeySet>>, extras: Extras) -> Option<Box<Aside>> {
        let extras = (extras != NO_EXTRAS).then(|| Box::new(extras));
        let says = keys.is_some() || extras.is_some();
        says.then(|| Box::new(Aside { keys, extras }))
    }
}

/// What few jobs say of themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extras {
    /// Counted from the submission; the later of this and `not_before` holds.
    pub delay: Micros,
    /// On the wall clock. Once a job with a delay is taken, the moment at which it may start, which
    /// is one of the scheduler's time: a span is not to follow the wall clock.
    pub not_before: Timestamp,
    pub escalation: Option<Escalation>,
    /// How much data the job works on, where that is not its payload: a hint for predictions.
    pub input_bytes: Option<u64>,
    /// Where it belongs in a trace.
    pub trace_parent: Option<TraceParent>,
}

impl Extras {
    /// When a job that was taken may start, with the wall clock this far ahead.
    pub fn due(&self, wall: WallAhead) -> Timestamp {
        if self.delay > Micros::ZERO { self.not_before } else { self.asked(wall) }
    }

    /// The moment before which it is not to start, as it was asked for.
    pub(crate) fn asked(&self, wall: WallAhead) -> Timestamp {
        match self.not_before {
            Timestamp(0) => Timestamp(0),
            shown => wall.from_the_wall(shown),
        }
    }
}

/// A million of them wait: whoever makes it larger should know.
const _: () = assert!(size_of::<JobSpec>() == 176);

static NO_EXTRAS: Extras = Extras {
    delay: Micros::ZERO,
    not_before: Timestamp(0),
    escalation: None,
    input_bytes: None,
    trace_parent: None,
};

impl JobSpec {
    /// A job with every default.
    pub fn new(id: JobId, kind: Name) -> JobSpec {
        JobSpec {
            id,
            node: None,
            requirements: Arc::new(Requirements {
                kind,
                target: Target::Any,
                resources: Resources::default(),
                capabilities: Box::default(),
                model: None,
            }),
            priority: Priority::Normal,
            guarantee: Guarantee::AtLeastOnce,
            on_failure: OnFailure::Skip,
            payload: Bytes::new(),
            dependencies: Box::default(),
            timeout: None,
            retry: None,
            sender: None,
            idempotency_key: None,
            tags: Box::default(),
            aside: None,
        }
    }

    pub fn kind(&self) -> &Name {
        &self.requirements.kind
    }

    pub fn extras(&self) -> &Extras {
        let aside = self.aside.as_deref();
        aside.and_then(|aside| aside.extras.as_deref()).unwrap_or(&NO_EXTRAS)
    }

    pub fn extras_mut(&mut self) -> &mut Extras {
        self.aside.get_or_insert_default().extras.get_or_insert_default()
    }

    /// What it shares with other jobs, as a tenant or a machine.
    pub fn keys(&self) -> &[KeyUse] {
        self.key_set().map_or(&[], |keys| keys.uses())
    }

    pub fn key_set(&self) -> Option<&Arc<KeySet>> {
        self.aside.as_ref()?.keys.as_ref()
    }

    pub fn set_keys(&mut self, keys: Option<Arc<KeySet>>) {
        if keys.is_some() || self.aside.is_some() {
            self.aside.get_or_insert_default().keys = keys;
        }
    }

    /// To change them before it is submitted.
    pub fn requirements_mut(&mut self) -> &mut Requirements {
        Arc::make_mut(&mut self.requirements)
    }

    pub fn depend_on(&mut self, id: JobId) {
        let mut dependencies = std::mem::take(&mut self.dependencies).into_vec();
        dependencies.push(id);
        self.dependencies = dependencies.into();
    }

    /// How long an attempt may take.
    ///
    /// # Panics
    /// If the job was not taken yet and says nothing.
    pub fn timeout_of_taken(&self) -> Micros {
        self.timeout.expect("a job that was taken has a timeout")
    }

    /// How often it is tried again.
    ///
    /// # Panics
    /// If the job was not taken yet and says nothing.
    pub fn retries_of_taken(&self) -> u32 {
        self.retry.expect("a job that was taken has a number of retries")
    }

    /// How much data it works on: its payload, unless it says otherwise.
    pub fn input_bytes(&self) -> u64 {
        self.extras().input_bytes.unwrap_or(self.payload.len() as u64)
    }
}

/// A job that was taken: what was asked for, and what was decided with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedJob {
    pub spec: Arc<JobSpec>,
    /// Dependencies that had not ended.
    pub dependencies: Box<[JobNo]>,
    /// The predicted duration, which its rank is made of.
    pub predicted: Micros,
    /// Its place in the order of ready jobs: lower goes first.
    pub rank: i64,
    /// A dependency had already ended without completing.
    pub doomed: bool,
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
    pub jobs: Vec<JobSpec>,
    /// Ends of dependencies that the core no longer knows.
    pub settled: Vec<(JobId, Settlement)>,
    /// What is known elsewhere of keys that the core no longer knows.
    pub keys: KeysSeen,
    /// They belong to the run even if there are others of it already.
    pub extends: bool,
}

impl Submission {
    pub fn one(job: JobSpec) -> Submission {
        Submission::of(None, vec![job])
    }

    pub fn of(run: Option<RunId>, jobs: Vec<JobSpec>) -> Submission {
        Submission { run, jobs, settled: Vec::new(), keys: KeysSeen::default(), extends: false }
    }
}
