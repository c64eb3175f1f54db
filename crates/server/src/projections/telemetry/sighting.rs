//! What those who watch are told.

use bellwether_core::Decision;
use bellwether_core::model::{FailureCause, Name, RevokeReason, Seq, Timestamp};

use super::live::{LiveJob, LiveOffer, Workers};

#[derive(Debug)]
pub(crate) enum Sighting<'a> {
    Submitted {
        job: &'a LiveJob,
    },
    Decided {
        job: &'a LiveJob,
        offer: &'a LiveOffer,
        decision: &'a Decision,
        workers: &'a Workers,
    },
    Started {
        offer: &'a LiveOffer,
    },
    OfferEnded {
        job: &'a LiveJob,
        offer: &'a LiveOffer,
        end: &'a OfferEnd<'a>,
        at: Timestamp,
        seq: Seq,
    },
    Retried {
        job: &'a LiveJob,
    },
    Escalated,
    Ended {
        job: &'a LiveJob,
        end: JobEnd,
        at: Timestamp,
    },
    PredictorFailed,
    BreakerOpened,
    Drifted {
        kind: &'a Name,
    },
}

#[derive(Debug)]
pub(crate) enum OfferEnd<'a> {
    Completed { result_hash: &'a [u8; 32] },
    Failed { cause: FailureCause, error: &'a str },
    Revoked { reason: RevokeReason },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Completed,
    Failed,
    DeadLettered,
    Skipped,
    Cancelled,
}

impl JobEnd {
    pub(crate) const ALL: [JobEnd; 5] = [
        JobEnd::Completed,
        JobEnd::Failed,
        JobEnd::DeadLettered,
        JobEnd::Skipped,
        JobEnd::Cancelled,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            JobEnd::Completed => "completed",
            JobEnd::Failed => "failed",
            JobEnd::DeadLettered => "dead_lettered",
            JobEnd::Skipped => "skipped",
            JobEnd::Cancelled => "cancelled",
        }
    }
}

impl OfferEnd<'_> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            OfferEnd::Completed { .. } => "completed",
            OfferEnd::Failed { .. } => "failed",
            OfferEnd::Revoked { .. } => "revoked",
        }
    }

    pub(crate) fn error(&self) -> &str {
        match self {
            OfferEnd::Failed { error, .. } => error,
            OfferEnd::Completed { .. } | OfferEnd::Revoked { .. } => "",
        }
    }

    pub(crate) fn result_hash(&self) -> Option<&[u8; 32]> {
        match self {
            OfferEnd::Completed { result_hash } => Some(result_hash),
            OfferEnd::Failed { .. } | OfferEnd::Revoked { .. } => None,
        }
    }

    /// Why it did not complete.
    pub(crate) fn cause(&self) -> &'static str {
        match self {
            OfferEnd::Completed { .. } => "",
            OfferEnd::Failed { cause, .. } => cause.as_str(),
            OfferEnd::Revoked { reason } => reason.as_str(),
        }
    }
}
