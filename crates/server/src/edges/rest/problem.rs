//! What went wrong, as RFC 9457 has it: for programs the code, for people the detail.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bellwether_core::Rejection;
use bellwether_core::model::Micros;
use bellwether_journal::ReadError;
use bellwether_wire::Malformed;
use bellwether_wire::rejection::{MALFORMED, code, retry_after};
use serde::Serialize;
use utoipa::ToSchema;

use crate::edges::desk::{Refused, Unanswered};
use crate::edges::security::authorize::Denied;
use crate::event_loop::Unavailable;
use crate::projections::history::HistoryError;
use crate::projections::registry::{LookupError, QueryError};

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
const TYPE_PREFIX: &str = "urn:bellwether:problem:";

/// What went wrong.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "ProblemView")]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    retry_after: Option<Micros>,
    allow: Option<Box<str>>,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemView {
    /// Names the kind of problem; ends with the code.
    #[schema(example = "urn:bellwether:problem:queue_full")]
    r#type: String,
    /// The kind of problem in words.
    title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// This very problem, with its way out.
    detail: String,
    /// Stable, for programs to branch on.
    #[schema(example = "queue_full")]
    code: &'static str,
    /// Seconds after which trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<f64>,
}

impl From<Problem> for ProblemView {
    fn from(problem: Problem) -> ProblemView {
        ProblemView {
            r#type: format!("{TYPE_PREFIX}{}", problem.code),
            title: problem.code.replace('_', " "),
            status: problem.status.as_u16(),
            detail: problem.detail,
            code: problem.code,
            retry_after: problem.retry_after.map(|wait| wait.0 as f64 / 1e6),
        }
    }
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
    ) -> Problem {
        Problem { status, code, detail: detail.into(), retry_after: None, allow: None }
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, MALFORMED, detail)
    }

    pub(crate) fn unknown(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub(crate) fn method_not_allowed(allowed: &[&str]) -> Problem {
        let allowed = allowed.join(", ");
        let detail = format!("this path takes {allowed}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Problem {
            allow: Some(allowed.into()),
            ..Problem::new(status, "method_not_allowed", detail)
        }
    }

    #[must_use]
    pub(super) fn with_status(self, status: StatusCode) -> Problem {
        Problem { status, ..self }
    }

    #[must_use]
    fn after(self, retry_after: Option<Micros>) -> Problem {
        Problem { retry_after, ..self }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).expect("texts and numbers have a JSON form");
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(Micros(wait)) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.div_ceil(1_000_000).max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(allow) = self.allow.as_deref().and_then(|allow| allow.parse().ok()) {
            headers.insert(ALLOW, allow);
        }
        response
    }
}

impl From<&Rejection> for Problem {
    fn from(why: &Rejection) -> Problem {
        let status = match why {
            Rejection::UnknownJob { .. } | Rejection::UnknownWorker { .. } => StatusCode::NOT_FOUND,
            Rejection::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            Rejection::PayloadTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Rejection::ConfigChanged { .. } => StatusCode::PRECONDITION_FAILED,
            Rejection::DuplicateJob { .. }
            | Rejection::KeyTaken { .. }
            | Rejection::DuplicateRun { .. }
            | Rejection::AlreadyEnded { .. }
            | Rejection::NotRetryable { .. }
            | Rejection::DependencyFailed { .. }
            | Rejection::AlreadyPlaced { .. }
            | Rejection::StaleToken { .. }
            | Rejection::OtherResult { .. }
            | Rejection::ClaimFirst { .. }
            | Rejection::NotClaimable { .. } => StatusCode::CONFLICT,
            Rejection::EmptySubmission
            | Rejection::RunTooLarge { .. }
            | Rejection::UnknownDependency { .. }
            | Rejection::SelfDependency { .. }
            | Rejection::DuplicateDependency { .. }
            | Rejection::TooMany { .. }
            | Rejection::Cycle { .. }
            | Rejection::RetryAboveMax { .. }
            | Rejection::ZeroTimeout { .. }
            | Rejection::BadSlots { .. }
            | Rejection::TooManyLabels { .. }
            | Rejection::Config(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Problem::new(status, code(why), why.to_string()).after(retry_after(why))
    }
}

impl From<&Malformed> for Problem {
    fn from(why: &Malformed) -> Problem {
        Problem::malformed(why.to_string())
    }
}

impl From<Refused> for Problem {
    fn from(why: Refused) -> Problem {
        match &why {
            Refused::Malformed(why) => Problem::from(why),
            Refused::Rejected(why) => Problem::from(why),
        }
    }
}

impl From<Unavailable> for Problem {
    fn from(why: Unavailable) -> Problem {
        let status = match why {
            Unavailable::Busy => StatusCode::TOO_MANY_REQUESTS,
            Unavailable::DiskFull
            | Unavailable::ShuttingDown
            | Unavailable::Rebuilt
            | Unavailable::Unknown
            | Unavailable::Deposed
            | Unavailable::Following => StatusCode::SERVICE_UNAVAILABLE,
        };
        Problem::new(status, why.code(), why.to_string()).after(Some(why.retry_after()))
    }
}

impl From<LookupError> for Problem {
    fn from(why: LookupError) -> Problem {
        let text = why.to_string();
        let later = |problem: Problem| problem.after(Some(Micros::from_secs(1)));
        match why {
            LookupError::Query(QueryError::Cursor) => Problem::malformed(text),
            LookupError::Behind(_) => {
                later(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "registry_behind", text))
            }
            LookupError::Stopped => {
                later(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", text))
            }
            LookupError::Query(QueryError::Store(_)) => {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "registry_unreadable", text)
            }
        }
    }
}

impl From<HistoryError> for Problem {
    fn from(why: HistoryError) -> Problem {
        let text = why.to_string();
        match why {
            HistoryError::Read(ReadError::Truncated { .. }) => {
                Problem::new(StatusCode::GONE, "truncated", text)
            }
            HistoryError::Read(ReadError::Damaged(_) | ReadError::Io(_)) => {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "journal_unreadable", text)
            }
            HistoryError::Stopped => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", text)
                    .after(Some(Micros::from_secs(1)))
            }
        }
    }
}

impl From<Unanswered> for Problem {
    fn from(why: Unanswered) -> Problem {
        match why {
            Unanswered::Refused(why) => why.into(),
            Unanswered::Unavailable(why) => why.into(),
            Unanswered::Lookup(why) => why.into(),
            Unanswered::History(why) => why.into(),
            Unanswered::UnknownRun { .. } => Problem::unknown("unknown_run", why.to_string()),
            Unanswered::UnknownJob { .. } => Problem::unknown("unknown_job", why.to_string()),
        }
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Problem {
        let (status, code) = match denied {
            Denied::NoToken => (StatusCode::UNAUTHORIZED, "no_token"),
            Denied::UnknownToken => (StatusCode::UNAUTHORIZED, "unknown_token"),
            Denied::Role { .. } => (StatusCode::FORBIDDEN, "role"),
            Denied::Nobody => (StatusCode::FORBIDDEN, "nobody"),
        };
        Problem::new(status, code, denied.to_string())
    }
}
