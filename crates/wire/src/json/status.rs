//! How the scheduler is.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::code::{Breaker, Code, JobState, Predictor, SchedulerRole, Strategy};
use super::hex;
use super::unit::{Moment, moment, text};
use crate::v1;

/// How the scheduler is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Status {
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<SchedulerRole>,
    /// The reign of this scheduler over the journal.
    epoch: u64,
    /// The last journal position that is durable.
    position: u64,
    /// The hash of the journal up to there.
    chain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    /// How many jobs are in which state.
    jobs: BTreeMap<JobState, u64>,
    workers: u32,
    slots: u32,
    slots_used: u32,
    /// Of the jobs that may wait and run at a time.
    filled_percent: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<Strategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predictor: Option<Predictor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breaker: Option<Breaker>,
    paused_types: Vec<String>,
    config_version: u64,
    /// New work is refused for now; `explanation` says why.
    read_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
}

impl From<v1::StatusResponse> for Status {
    fn from(status: v1::StatusResponse) -> Status {
        let mut jobs = BTreeMap::new();
        for count in &status.jobs {
            if let Some(state) = Code::from_wire(count.state) {
                *jobs.entry(state).or_insert(0) += count.count;
            }
        }
        Status {
            role: Code::known(status.role()),
            version: status.version,
            epoch: status.epoch,
            position: status.position,
            chain: hex(&status.chain),
            started_at: moment(status.started_at),
            jobs,
            workers: status.workers,
            slots: status.slots,
            slots_used: status.slots_used,
            filled_percent: status.filled_percent,
            strategy: Code::from_wire(status.strategy),
            predictor: Code::from_wire(status.predictor),
            breaker: Code::from_wire(status.breaker),
            paused_types: status.paused_types,
            config_version: status.config_version,
            read_only: status.read_only,
            explanation: text(status.explanation),
        }
    }
}
