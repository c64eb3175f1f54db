//! Refusals as clients see them.

use bellwether_core::Rejection;
use bellwether_core::model::Micros;

use crate::{Malformed, v1};

/// The code of what could not even be read.
pub const MALFORMED: &str = "malformed";

/// Stable names that programs may branch on.
pub fn code(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::EmptySubmission => "empty_submission",
        Rejection::RunTooLarge { .. } => "run_too_large",
        Rejection::DuplicateJob { .. } => "duplicate_job",
        Rejection::KeyTaken { .. } => "key_taken",
        Rejection::DuplicateRun { .. } => "duplicate_run",
        Rejection::UnknownDependency { .. } => "unknown_dependency",
        Rejection::SelfDependency { .. } => "self_dependency",
        Rejection::DuplicateDependency { .. } => "duplicate_dependency",
        Rejection::TooMany { .. } => "too_many",
        Rejection::Cycle { .. } => "cycle",
        Rejection::RetryAboveMax { .. } => "retry_above_max",
        Rejection::ZeroTimeout { .. } => "zero_timeout",
        Rejection::PayloadTooLarge { .. } => "payload_too_large",
        Rejection::QueueFull { .. } => "queue_full",
        Rejection::UnknownJob { .. } => "unknown_job",
        Rejection::AlreadyEnded { .. } => "already_ended",
        Rejection::NotRetryable { .. } => "not_retryable",
        Rejection::DependencyFailed { .. } => "dependency_failed",
        Rejection::AlreadyPlaced { .. } => "already_placed",
        Rejection::UnknownWorker { .. } => "unknown_worker",
        Rejection::BadSlots { .. } => "bad_slots",
        Rejection::TooManyLabels { .. } => "too_many_labels",
        Rejection::StaleToken { .. } => "stale_token",
        Rejection::OtherResult { .. } => "other_result",
        Rejection::ClaimFirst { .. } => "claim_first",
        Rejection::NotClaimable { .. } => "not_claimable",
        Rejection::ConfigChanged { .. } => "config_changed",
        Rejection::Config(_) => "bad_config",
    }
}

/// How long to wait before trying again, where that may help.
pub fn retry_after(rejection: &Rejection) -> Option<Micros> {
    match rejection {
        Rejection::QueueFull { retry_after, .. } => Some(*retry_after),
        _ => None,
    }
}

pub fn rejection_to_wire(rejection: &Rejection) -> v1::Rejection {
    v1::Rejection {
        code: code(rejection).to_owned(),
        message: rejection.to_string(),
        retry_after: retry_after(rejection).map_or(0, |span| span.0),
    }
}

impl From<&Malformed> for v1::Rejection {
    fn from(malformed: &Malformed) -> v1::Rejection {
        v1::Rejection { code: MALFORMED.to_owned(), message: malformed.to_string(), retry_after: 0 }
    }
}
