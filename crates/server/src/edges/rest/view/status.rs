//! How the scheduler is.

use std::collections::BTreeMap;

use bellwether_wire::v1;
use serde::Serialize;
use utoipa::ToSchema;

use super::{JobState, moment};

/// How the scheduler is.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Status {
    version: String,
    /// leader, follower or alone.
    role: String,
    /// The reign of this scheduler over the journal.
    epoch: u64,
    /// The last journal position that is durable.
    position: u64,
    /// The hash of the journal up to there.
    chain: String,
    #[schema(format = "date-time")]
    started_at: Option<String>,
    /// How many jobs are in which state.
    jobs: BTreeMap<JobState, u64>,
    workers: u32,
    slots: u32,
    slots_used: u32,
    /// Of the jobs that may wait and run at a time.
    filled_percent: u32,
    strategy: String,
    predictor: String,
    /// closed, open or half_open.
    breaker: String,
    paused_types: Vec<String>,
    config_version: u64,
    /// New work is refused for now; `explanation` says why.
    read_only: bool,
    explanation: String,
}

impl From<v1::StatusResponse> for Status {
    fn from(status: v1::StatusResponse) -> Status {
        let mut jobs = BTreeMap::new();
        for count in &status.jobs {
            if let Some(state) = JobState::from_wire(count.state()) {
                *jobs.entry(state).or_insert(0) += count.count;
            }
        }
        Status {
            version: status.version,
            role: status.role,
            epoch: status.epoch,
            position: status.position,
            chain: bellwether_wire::json::hex(&status.chain),
            started_at: moment(status.started_at),
            jobs,
            workers: status.workers,
            slots: status.slots,
            slots_used: status.slots_used,
            filled_percent: status.filled_percent,
            strategy: status.strategy,
            predictor: status.predictor,
            breaker: status.breaker,
            paused_types: status.paused_types,
            config_version: status.config_version,
            read_only: status.read_only,
            explanation: status.explanation,
        }
    }
}
