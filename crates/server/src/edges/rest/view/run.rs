//! A run: jobs that were submitted together.

use std::collections::BTreeMap;

use bellwether_wire::json::code::{Code, JobState};
use bellwether_wire::json::unit::{Moment, moment};
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
}

impl From<RunSummary> for Run {
    fn from(run: RunSummary) -> Run {
        let mut states = BTreeMap::new();
        for count in &run.states {
            if let Some(state) = Code::from_wire(count.state) {
                states.insert(state, count.count);
            }
        }
        Run {
            id: run.id,
            submitted_at: moment(run.submitted_at),
            ended_at: moment(run.ended_at),
            total: states.values().sum(),
            states,
        }
    }
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
