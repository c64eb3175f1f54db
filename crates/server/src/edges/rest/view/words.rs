//! Words for what the schema numbers.

use bellwether_wire::v1;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::edges::rest) enum JobState {
    /// For dependencies.
    Waiting,
    /// For its time or its backoff.
    Delayed,
    Ready,
    Offered,
    Running,
    Completed,
    Failed,
    Cancelled,
    Skipped,
    DeadLettered,
}

impl JobState {
    /// None for what a newer scheduler may add.
    pub(in crate::edges::rest) fn from_wire(state: v1::JobState) -> Option<JobState> {
        Some(match state {
            v1::JobState::Unspecified => return None,
            v1::JobState::Waiting => JobState::Waiting,
            v1::JobState::Delayed => JobState::Delayed,
            v1::JobState::Ready => JobState::Ready,
            v1::JobState::Offered => JobState::Offered,
            v1::JobState::Running => JobState::Running,
            v1::JobState::Completed => JobState::Completed,
            v1::JobState::Failed => JobState::Failed,
            v1::JobState::Cancelled => JobState::Cancelled,
            v1::JobState::Skipped => JobState::Skipped,
            v1::JobState::DeadLettered => JobState::DeadLettered,
        })
    }

    pub(in crate::edges::rest) fn to_wire(self) -> v1::JobState {
        match self {
            JobState::Waiting => v1::JobState::Waiting,
            JobState::Delayed => v1::JobState::Delayed,
            JobState::Ready => v1::JobState::Ready,
            JobState::Offered => v1::JobState::Offered,
            JobState::Running => v1::JobState::Running,
            JobState::Completed => v1::JobState::Completed,
            JobState::Failed => v1::JobState::Failed,
            JobState::Cancelled => v1::JobState::Cancelled,
            JobState::Skipped => v1::JobState::Skipped,
            JobState::DeadLettered => v1::JobState::DeadLettered,
        }
    }
}

const ALL: [v1::JobState; 10] = [
    v1::JobState::Waiting,
    v1::JobState::Delayed,
    v1::JobState::Ready,
    v1::JobState::Offered,
    v1::JobState::Running,
    v1::JobState::Completed,
    v1::JobState::Failed,
    v1::JobState::Cancelled,
    v1::JobState::Skipped,
    v1::JobState::DeadLettered,
];

/// The states of jobs that have ended, or of those that have not.
pub(in crate::edges::rest) fn ended_states(ended: bool) -> Vec<v1::JobState> {
    let has_ended = |state: &v1::JobState| *state as i32 >= v1::JobState::Completed as i32;
    ALL.into_iter().filter(|state| has_ended(state) == ended).collect()
}

/// Those that skipped jobs come back with.
pub(in crate::edges::rest) fn retryable_states() -> Vec<v1::JobState> {
    vec![v1::JobState::Failed, v1::JobState::Cancelled, v1::JobState::DeadLettered]
}
