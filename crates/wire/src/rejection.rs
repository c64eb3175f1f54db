//! Refusals as clients see them.

use bellwether_core::Rejection;
use bellwether_core::model::Micros;

use crate::{Malformed, v1};

/// The code of what could not even be read.
pub const MALFORMED: &str = "malformed";

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It could not be read.
    Malformed,
    /// It could be read, but can't be.
    Invalid,
    TooLarge,
    Unknown,
    /// It is there already.
    Exists,
    /// It does not fit what is there.
    Conflict,
    /// What it was based on is no longer so.
    Changed,
    /// Another session has taken its place.
    Replaced,
    /// No longer kept.
    Gone,
    /// Whoever asks is not who may.
    Denied,
    /// There is too much to do; it may be sent again.
    Busy,
    /// Nothing is taken for now; it may be sent again.
    Away,
    /// What is on the disk could not be read.
    Unreadable,
    Damaged,
}

impl Kind {
    /// The HTTP status, and the number of the gRPC code.
    pub const fn statuses(self) -> (u16, i32) {
        match self {
            Kind::Malformed => (400, 3),
            Kind::Invalid => (422, 3),
            Kind::TooLarge => (413, 3),
            Kind::Unknown => (404, 5),
            Kind::Exists => (409, 6),
            Kind::Conflict => (409, 9),
            Kind::Changed => (412, 9),
            Kind::Replaced => (409, 10),
            Kind::Gone => (410, 11),
            Kind::Denied => (403, 7),
            Kind::Busy => (429, 8),
            Kind::Away => (503, 14),
            Kind::Unreadable => (500, 13),
            Kind::Damaged => (500, 15),
        }
    }
}

/// What kind of refusal it is, and the stable name that programs may branch on.
pub fn kind_and_code(rejection: &Rejection) -> (Kind, &'static str) {
    match rejection {
        Rejection::EmptySubmission => (Kind::Invalid, "empty_submission"),
        Rejection::RunTooLarge { .. } => (Kind::Invalid, "run_too_large"),
        Rejection::DuplicateJob { .. } => (Kind::Exists, "duplicate_job"),
        Rejection::KeyTaken { .. } => (Kind::Exists, "key_taken"),
        Rejection::DuplicateRun { .. } => (Kind::Exists, "duplicate_run"),
        Rejection::UnknownDependency { .. } => (Kind::Invalid, "unknown_dependency"),
        Rejection::SelfDependency { .. } => (Kind::Invalid, "self_dependency"),
        Rejection::DuplicateDependency { .. } => (Kind::Invalid, "duplicate_dependency"),
        Rejection::TooMany { .. } => (Kind::Invalid, "too_many"),
        Rejection::Cycle { .. } => (Kind::Invalid, "cycle"),
        Rejection::RetryAboveMax { .. } => (Kind::Invalid, "retry_above_max"),
        Rejection::ZeroTimeout { .. } => (Kind::Invalid, "zero_timeout"),
        Rejection::PayloadTooLarge { .. } => (Kind::TooLarge, "payload_too_large"),
        Rejection::QueueFull { .. } => (Kind::Busy, "queue_full"),
        Rejection::KeysFull { .. } => (Kind::Busy, "keys_full"),
        Rejection::UnknownJob { .. } => (Kind::Unknown, "unknown_job"),
        Rejection::AlreadyEnded { .. } => (Kind::Conflict, "already_ended"),
        Rejection::NotRetryable { .. } => (Kind::Conflict, "not_retryable"),
        Rejection::NeedsForce { .. } => (Kind::Conflict, "needs_force"),
        Rejection::DependencyFailed { .. } => (Kind::Conflict, "dependency_failed"),
        Rejection::AlreadyPlaced { .. } => (Kind::Conflict, "already_placed"),
        Rejection::UnknownWorker { .. } => (Kind::Unknown, "unknown_worker"),
        Rejection::BadSlots { .. } => (Kind::Invalid, "bad_slots"),
        Rejection::TooManyLabels { .. } => (Kind::Invalid, "too_many_labels"),
        Rejection::TooManyNotes { .. } => (Kind::Invalid, "too_many_notes"),
        Rejection::KeyMissing { .. } => (Kind::Denied, "key_missing"),
        Rejection::OtherKey { .. } => (Kind::Denied, "other_key"),
        Rejection::KeyNotApproved { .. } => (Kind::Denied, "key_not_approved"),
        Rejection::KeyRequired { .. } => (Kind::Denied, "key_required"),
        Rejection::KeyRevoked { .. } => (Kind::Denied, "key_revoked"),
        Rejection::RotationOutdated { .. } => (Kind::Conflict, "rotation_outdated"),
        Rejection::DispatchedOnce { .. } => (Kind::Conflict, "dispatched_once"),
        Rejection::HandoffElsewhere { .. } => (Kind::Denied, "handoff_elsewhere"),
        Rejection::HandoffExpired { .. } => (Kind::Denied, "handoff_expired"),
        Rejection::OtherPayload { .. } => (Kind::Denied, "other_payload"),
        Rejection::HandoffChain { .. } => (Kind::Denied, "handoff_chain"),
        Rejection::UnknownReceiver { .. } => (Kind::Invalid, "unknown_receiver"),
        Rejection::HandoffToItself { .. } => (Kind::Invalid, "handoff_to_itself"),
        Rejection::TooManyHandoffs { .. } => (Kind::Conflict, "too_many_handoffs"),
        Rejection::HandoffSpent { .. } => (Kind::Conflict, "handoff_spent"),
        Rejection::UnknownKey { .. } => (Kind::Unknown, "unknown_key"),
        Rejection::TicketClosed { .. } => (Kind::Denied, "ticket_closed"),
        Rejection::BeyondKey { .. } => (Kind::Denied, "beyond_key"),
        Rejection::TooManyKeys { .. } => (Kind::Busy, "too_many_keys"),
        Rejection::StaleToken { .. } => (Kind::Conflict, "stale_token"),
        Rejection::OtherResult { .. } => (Kind::Conflict, "other_result"),
        Rejection::ClaimFirst { .. } => (Kind::Conflict, "claim_first"),
        Rejection::NotClaimable { .. } => (Kind::Conflict, "not_claimable"),
        Rejection::ConfigChanged { .. } => (Kind::Changed, "config_changed"),
        Rejection::Config(_) => (Kind::Invalid, "bad_config"),
    }
}

pub fn code(rejection: &Rejection) -> &'static str {
    kind_and_code(rejection).1
}

/// How long to wait before trying again, where that may help.
pub fn retry_after(rejection: &Rejection) -> Option<Micros> {
    match rejection {
        Rejection::QueueFull { retry_after, .. } | Rejection::KeysFull { retry_after } => {
            Some(*retry_after)
        }
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
