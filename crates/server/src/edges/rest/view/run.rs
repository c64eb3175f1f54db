//! A run: jobs that were submitted together.

use std::collections::BTreeMap;

use bellwether_wire::json::code::{Code, JobState};
use bellwether_wire::json::unit::{Moment, moment};
use bellwether_wire::v1;
use serde::Serialize;
use utoipa::ToSchema;

use crate::edges::desk::RunPage;
use crate::projections::registry::RunSummary;
use bellwether_wire::json::Job;

/// Jobs that were submitted together.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Run {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_at: Option<Moment>,
    /// When its last job ended; absent while one has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Moment>,
    /// How many of its jobs are in which state, as far as history has it.
    states: BTreeMap<JobState, u64>,
    /// How many jobs it has.
    total: u64,
    /// Jobs that stand for many, as one each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arrays: Vec<RunArray>,
}

/// A job over many items.
#[derive(Debug, Serialize, ToSchema)]
struct RunArray {
    /// What the ids of its jobs begin with.
    id: String,
    /// How many of them are in which state.
    states: BTreeMap<JobState, u64>,
    total: u64,
}

impl From<RunSummary> for Run {
    fn from(run: RunSummary) -> Run {
        let states = by_state(&run.states);
        let array = |array: v1::ArrayCount| {
            let states = by_state(&array.states);
            RunArray { id: array.id, total: states.values().sum(), states }
        };
        Run {
            arrays: run.arrays.into_iter().map(array).collect(),
            id: run.id,
            submitted_at: moment(run.submitted_at),
            ended_at: moment(run.ended_at),
            total: states.values().sum(),
            states,
        }
    }
}

fn by_state(counts: &[v1::StateCount]) -> BTreeMap<JobState, u64> {
    let known = |count: &v1::StateCount| Some((Code::from_wire(count.state)?, count.count));
    counts.iter().filter_map(known).collect()
}

/// A run with some of its jobs, the last first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct RunWithJobs {
    #[serde(flatten)]
    pub(in crate::edges::rest) run: Run,
    pub(in crate::edges::rest) jobs: Vec<Job>,
    /// Ask again with this as `cursor` for the others; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::edges::rest) next_cursor: Option<String>,
}

/// Some of the runs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Runs {
    runs: Vec<Run>,
    /// Ask again with this as `cursor` for those that follow; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl From<RunPage> for Runs {
    fn from(page: RunPage) -> Runs {
        let runs = page.runs.into_iter().map(Run::from).collect();
        Runs { runs, next_cursor: page.next_cursor }
    }
}
