//! One placement of a job on one worker.

use serde::{Deserialize, Serialize};

use super::{Micros, Timestamp, Token, WorkerNo};
use crate::words;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub token: Token,
    pub worker: WorkerNo,
    pub phase: Phase,
    pub offered_at: Timestamp,
    /// Predicted for this worker, model loading included.
    pub predicted: Micros,
    /// The second offer of an attempt slot.
    pub hedge: bool,
    /// So short that the worker may be sent the next job meanwhile.
    pub short: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Sent, not yet heard of; at `quiet_at` it is hedged.
    Offered {
        since: Timestamp,
        quiet_at: Timestamp,
    },
    Running {
        since: Timestamp,
        timeout_at: Timestamp,
        stalled_at: Option<Timestamp>,
    },
}

/// A job that takes no longer is over before the next offer can come.
const INSTANT: Micros = Micros::from_millis(1);

impl Attempt {
    pub(crate) fn is_instant(&self) -> bool {
        self.predicted <= INSTANT
    }
}

impl Phase {
    /// When this attempt needs the supervisor, if nothing is heard of it.
    pub fn deadline(self) -> Timestamp {
        match self {
            Phase::Offered { quiet_at, .. } => quiet_at,
            Phase::Running { timeout_at, stalled_at, .. } => {
                stalled_at.map_or(timeout_at, |at| at.min(timeout_at))
            }
        }
    }

    /// The same with so much more time. When it started stays what it was.
    #[must_use]
    pub fn extended(self, by: Micros) -> Phase {
        match self {
            Phase::Offered { since, quiet_at } => {
                Phase::Offered { since: since + by, quiet_at: quiet_at + by }
            }
            Phase::Running { since, timeout_at, stalled_at } => Phase::Running {
                since,
                timeout_at: timeout_at + by,
                stalled_at: stalled_at.map(|at| at + by),
            },
        }
    }

    pub fn since(self) -> Timestamp {
        match self {
            Phase::Offered { since, .. } | Phase::Running { since, .. } => since,
        }
    }
}

/// Why an attempt ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureCause {
    /// The job itself failed: counts against its retries.
    Failed,
    /// It ran longer than its timeout: counts against its retries.
    TimedOut,
    /// It stopped reporting progress: counts against its retries.
    Stalled,
    /// The worker died or went silent with it: counts against its crashes.
    WorkerLost,
    /// The offer never arrived: counts for nothing.
    Undelivered,
    /// The worker gave it back unstarted or asked for it later: counts for nothing.
    Returned,
    /// The job says that no retry will help.
    Permanent,
    /// The worker has no handler for the job's type: counts for nothing, and it is not asked again.
    NoHandler,
}

words!(
    FailureCause:
    Failed => "failed", TimedOut => "timed_out", Stalled => "stalled",
    WorkerLost => "worker_lost", Undelivered => "undelivered", Returned => "returned",
    Permanent => "permanent", NoHandler => "no_handler",
);

impl FailureCause {
    /// The job itself failed, rather than its worker or its offer.
    pub fn counts_against_job(self) -> bool {
        match self {
            FailureCause::Failed
            | FailureCause::TimedOut
            | FailureCause::Stalled
            | FailureCause::Permanent => true,
            FailureCause::WorkerLost
            | FailureCause::Undelivered
            | FailureCause::Returned
            | FailureCause::NoHandler => false,
        }
    }

    /// Why it was the end of the job, for people.
    pub fn in_words(self) -> &'static str {
        match self {
            FailureCause::Failed => "it failed and is not to be retried",
            FailureCause::TimedOut => "it ran longer than its timeout and is not to be retried",
            FailureCause::Stalled => "it stopped reporting progress and is not to be retried",
            FailureCause::WorkerLost => "its worker was lost and it is not to be dispatched twice",
            FailureCause::Undelivered => {
                "its offer never arrived and it is not to be dispatched twice"
            }
            FailureCause::Returned => {
                "its worker gave it back and it is not to be dispatched twice"
            }
            FailureCause::Permanent => "its worker said that no retry will help",
            FailureCause::NoHandler => "its worker has no handler for its type",
        }
    }
}

/// Why a worker must stop an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RevokeReason {
    /// Another worker won the hedge.
    HedgeLost,
    /// The job was cancelled.
    Cancelled,
    /// The supervisor gave up on it: timeout or stall.
    GivenUp,
    /// The scheduler does not know this attempt.
    Unknown,
    /// Its worker gave it to another.
    HandedOff,
}

words!(
    RevokeReason:
    HedgeLost => "hedge_lost", Cancelled => "cancelled", GivenUp => "given_up",
    Unknown => "unknown", HandedOff => "handed_off",
);
