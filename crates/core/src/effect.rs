//! Things to do outside, each released only once the event that caused it is durable.

use std::sync::Arc;

use crate::model::{HeldAttempt, JobNo, JobSpec, Name, RevokeReason, Timestamp, WorkerNo};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send the job to the worker.
    Offer { worker: WorkerNo, offer: Offer },
    /// Tell the worker that its claim holds: it may start.
    Grant { worker: WorkerNo, attempt: HeldAttempt },
    /// Tell the worker to stop the attempt and forget it.
    Revoke { worker: WorkerNo, attempt: HeldAttempt, reason: RevokeReason },
    /// Tell those who wait for the job that it has ended.
    Ended { job: JobNo },
    /// Tell the worker to finish what it holds and take no more.
    Drain { worker: WorkerNo },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub attempt: HeldAttempt,
    /// From 1; hedges share the number of the offer they back up.
    pub number: u32,
    pub spec: Arc<JobSpec>,
    /// Load this model first.
    pub load_model: Option<Name>,
    pub offered_at: Timestamp,
}
