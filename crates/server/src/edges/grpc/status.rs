//! Refusals as gRPC statuses. The code in the metadata is for programs, the message for people.

use bellwether_core::Rejection;
use bellwether_core::model::Micros;
use bellwether_journal::ReadError;
use bellwether_wire::Malformed;
use bellwether_wire::rejection::{MALFORMED, code, retry_after};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::edges::desk::{Refused, Unanswered};
use crate::event_loop::{End, Unavailable};
use crate::projections::history::HistoryError;
use crate::projections::registry::{LookupError, QueryError};

const CODE_KEY: &str = "bellwether-code";
/// Microseconds.
const RETRY_AFTER_KEY: &str = "bellwether-retry-after";

pub(super) fn refused(status: Code, code: &'static str, message: String) -> Status {
    let mut status = Status::new(status, message);
    status.metadata_mut().insert(CODE_KEY, MetadataValue::from_static(code));
    status
}

fn retry(mut status: Status, after: Option<Micros>) -> Status {
    if let Some(after) = after {
        status.metadata_mut().insert(RETRY_AFTER_KEY, MetadataValue::from(after.0));
    }
    status
}

/// Clients treat an unavailable scheduler without a code like a broken connection, and come back.
pub(super) fn unavailable(why: Unavailable) -> Status {
    let status = match why {
        Unavailable::ShuttingDown
        | Unavailable::Rebuilt
        | Unavailable::Unknown
        | Unavailable::Deposed
        | Unavailable::Following => Status::unavailable(why.to_string()),
        Unavailable::DiskFull => refused(Code::Unavailable, why.code(), why.to_string()),
        Unavailable::Busy => refused(Code::ResourceExhausted, why.code(), why.to_string()),
    };
    retry(status, Some(why.retry_after()))
}

pub(super) fn malformed(why: &Malformed) -> Status {
    refused(Code::InvalidArgument, MALFORMED, why.to_string())
}

pub(super) fn rejected(why: &Rejection) -> Status {
    let status = match why {
        Rejection::UnknownJob { .. } | Rejection::UnknownWorker { .. } => Code::NotFound,
        Rejection::QueueFull { .. } => Code::ResourceExhausted,
        Rejection::DuplicateJob { .. }
        | Rejection::KeyTaken { .. }
        | Rejection::DuplicateRun { .. } => Code::AlreadyExists,
        Rejection::AlreadyEnded { .. }
        | Rejection::NotRetryable { .. }
        | Rejection::DependencyFailed { .. }
        | Rejection::AlreadyPlaced { .. }
        | Rejection::StaleToken { .. }
        | Rejection::OtherResult { .. }
        | Rejection::ClaimFirst { .. }
        | Rejection::NotClaimable { .. }
        | Rejection::ConfigChanged { .. } => Code::FailedPrecondition,
        Rejection::EmptySubmission
        | Rejection::RunTooLarge { .. }
        | Rejection::UnknownDependency { .. }
        | Rejection::SelfDependency { .. }
        | Rejection::DuplicateDependency { .. }
        | Rejection::TooMany { .. }
        | Rejection::Cycle { .. }
        | Rejection::RetryAboveMax { .. }
        | Rejection::ZeroTimeout { .. }
        | Rejection::PayloadTooLarge { .. }
        | Rejection::BadSlots { .. }
        | Rejection::TooManyLabels { .. }
        | Rejection::Config(_) => Code::InvalidArgument,
    };
    retry(refused(status, code(why), why.to_string()), retry_after(why))
}

pub(super) fn session_ended(why: End) -> Status {
    match why {
        End::Refused(rejection) => rejected(&rejection),
        End::Malformed(why) => malformed(&why),
        End::Unavailable(why) => unavailable(why),
        End::Replaced => refused(Code::Aborted, "replaced", why.to_string()),
        End::RegisterAgain => refused(Code::Aborted, "register_again", why.to_string()),
        End::NotRegistered => refused(Code::FailedPrecondition, "not_registered", why.to_string()),
    }
}

pub(super) fn unanswered(why: Unanswered) -> Status {
    match why {
        Unanswered::Refused(Refused::Malformed(why)) => malformed(&why),
        Unanswered::Refused(Refused::Rejected(why)) => rejected(&why),
        Unanswered::Unavailable(why) => unavailable(why),
        Unanswered::Lookup(why) => lookup_failed(why),
        Unanswered::History(why) => unread(why),
        Unanswered::UnknownRun { .. } => refused(Code::NotFound, "unknown_run", why.to_string()),
        Unanswered::UnknownJob { .. } => refused(Code::NotFound, "unknown_job", why.to_string()),
    }
}

fn unread(why: HistoryError) -> Status {
    match why {
        HistoryError::Read(ReadError::Truncated { .. }) => {
            refused(Code::OutOfRange, "truncated", why.to_string())
        }
        HistoryError::Read(ReadError::Damaged(_)) => Status::data_loss(why.to_string()),
        HistoryError::Read(ReadError::Io(_)) | HistoryError::Stopped => {
            Status::unavailable(why.to_string())
        }
    }
}

pub(super) fn lookup_failed(why: LookupError) -> Status {
    match why {
        LookupError::Query(QueryError::Cursor) => {
            refused(Code::InvalidArgument, MALFORMED, why.to_string())
        }
        LookupError::Behind(_) | LookupError::Stopped => Status::unavailable(why.to_string()),
        LookupError::Query(QueryError::Store(_)) => Status::internal(why.to_string()),
    }
}
