//! What became of a wish.

use bellwether_wire::json::unit::seconds;
use bellwether_wire::v1;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::problem::{Problem, ProblemView};

/// Jobs that were taken. They are durable.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Accepted {
    /// The run, if they are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// In the order of the submission; left out if they are more than 10000.
    jobs: Vec<JobRef>,
    /// How many they are.
    count: u64,
    /// The idempotency key had been seen: these are the jobs of then, nothing is new.
    pub(in crate::edges::rest) known: bool,
    /// The journal position at which they are durable.
    position: u64,
    /// The queue fills up: please pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    throttle: Option<Throttle>,
}

#[derive(Debug, Serialize, ToSchema)]
struct JobRef {
    id: String,
    number: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct Throttle {
    filled_percent: u32,
    /// Seconds to wait before more is submitted.
    pause: f64,
}

impl Accepted {
    /// A run that was taken step by step.
    pub(in crate::edges::rest) fn in_steps(
        run: String,
        count: u64,
        last: v1::Accepted,
    ) -> Accepted {
        let last = v1::Accepted { jobs: Vec::new(), ..last };
        Accepted { count, ..Accepted::new(last, Some(run)) }
    }

    pub(in crate::edges::rest) fn new(accepted: v1::Accepted, run: Option<String>) -> Accepted {
        let job = |job: v1::JobRef| JobRef { id: job.id, number: job.job };
        Accepted {
            run,
            count: accepted.jobs.len() as u64,
            jobs: accepted.jobs.into_iter().map(job).collect(),
            known: accepted.known,
            position: accepted.position,
            throttle: accepted.throttle.map(Throttle::from),
        }
    }

    pub(in crate::edges::rest) fn run(&self) -> &str {
        self.run.as_deref().unwrap_or_default()
    }

    pub(in crate::edges::rest) fn first_id(&self) -> &str {
        self.jobs.first().map_or("", |job| job.id.as_str())
    }
}

/// What became of one submission of several: one of the two is there.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct SubmissionResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::edges::rest) accepted: Option<Accepted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemView>)]
    pub(in crate::edges::rest) problem: Option<Problem>,
}

/// It is done, and durable.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Done {
    /// The journal position at which it is.
    pub(in crate::edges::rest) position: u64,
}

impl From<v1::Throttle> for Throttle {
    fn from(throttle: v1::Throttle) -> Throttle {
        let pause = seconds(throttle.pause);
        Throttle { filled_percent: throttle.filled_percent, pause }
    }
}
