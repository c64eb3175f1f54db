//! What went wrong: for programs the code, for people the detail. REST tells it as RFC 9457 has it,
//! gRPC as a status.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bellwether_core::Rejection;
use bellwether_core::model::Micros;
use bellwether_host::NOT_LEADER;
use bellwether_journal::ReadError;
use bellwether_wire::Malformed;
use bellwether_wire::rejection::{Kind, MALFORMED, kind_and_code, retry_after};
use serde::Serialize;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use utoipa::ToSchema;

use crate::cluster::{NotRemoved, NotTransferred};
use crate::edges::desk::{Refused, Unanswered};
use crate::edges::security::authorize::Denied;
use crate::edges::security::hosts::Foreign;
use crate::event_loop::Unavailable;
use crate::projections::history::HistoryError;
use crate::projections::logs::LogsError;
use crate::projections::registry::{LookupError, QueryError};

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
const TYPE_PREFIX: &str = "urn:bellwether:problem:";
/// The keys of the metadata; the latter's are microseconds.
const CODE_KEY: &str = "bellwether-code";
const RETRY_AFTER_KEY: &str = "bellwether-retry-after";
/// Where the leader is, on the answers of those who are not; empty if that is not known.
pub(crate) const LEADER_KEY: &str = "bellwether-leader";
/// When what is on its way will be there.
const SOON: Micros = Micros::from_secs(1);

/// Marks an answer that only the leader can give.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotLeader;

/// What went wrong.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "ProblemView")]
pub(crate) struct Problem {
    status: StatusCode,
    grpc: Code,
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
    /// One that only HTTP has.
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
    ) -> Problem {
        let detail = detail.into();
        Problem { status, grpc: Code::Unknown, code, detail, retry_after: None, allow: None }
    }

    pub(crate) fn of(kind: Kind, code: &'static str, detail: impl Into<String>) -> Problem {
        let (http, grpc) = kind.statuses();
        let status = StatusCode::from_u16(http).expect("the table has valid statuses");
        Problem { grpc: Code::from(grpc), ..Problem::new(status, code, detail) }
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
        Problem::of(Kind::Malformed, MALFORMED, detail)
    }

    pub(crate) fn unknown(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::of(Kind::Unknown, code, detail)
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
    pub(super) fn after(self, retry_after: Option<Micros>) -> Problem {
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
        if self.code == NOT_LEADER {
            response.extensions_mut().insert(NotLeader);
        }
        let headers = response.headers_mut();
        if let Some(allow) = self.allow.as_deref().and_then(|allow| allow.parse().ok()) {
            headers.insert(ALLOW, allow);
        }
        response
    }
}

/// The same for gRPC: the code in the metadata is for programs, the message for people.
impl From<Problem> for Status {
    fn from(problem: Problem) -> Status {
        let mut status = Status::new(problem.grpc, problem.detail);
        let metadata = status.metadata_mut();
        // Clients treat a scheduler that is away without a code like a broken connection, and come
        // back; only where there is no room is nothing to come back to at once.
        let no_room = [Unavailable::DiskFull, Unavailable::DiskMax].map(Unavailable::code);
        if problem.grpc != Code::Unavailable || no_room.contains(&problem.code) {
            metadata.insert(CODE_KEY, MetadataValue::from_static(problem.code));
        }
        if problem.code == NOT_LEADER {
            // The door writes the address into it.
            metadata.insert(LEADER_KEY, MetadataValue::from_static(""));
        }
        if let Some(after) = problem.retry_after {
            metadata.insert(RETRY_AFTER_KEY, MetadataValue::from(after.0));
        }
        status
    }
}

impl From<&Rejection> for Problem {
    fn from(why: &Rejection) -> Problem {
        let (kind, code) = kind_and_code(why);
        Problem::of(kind, code, why.to_string()).after(retry_after(why))
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
        let kind = match why {
            Unavailable::Busy => Kind::Busy,
            Unavailable::DiskFull
            | Unavailable::DiskMax
            | Unavailable::ShuttingDown
            | Unavailable::Rebuilt
            | Unavailable::Unknown
            | Unavailable::Deposed
            | Unavailable::Following
            | Unavailable::NotSaved => Kind::Away,
        };
        Problem::of(kind, why.code(), why.to_string()).after(Some(why.retry_after()))
    }
}

impl From<NotTransferred> for Problem {
    fn from(why: NotTransferred) -> Problem {
        let text = why.to_string();
        match why {
            NotTransferred::NotHere(why) => why.into(),
            NotTransferred::Alone => Problem::of(Kind::Conflict, "alone", text),
            NotTransferred::Refused(_) => Problem::of(Kind::Conflict, "not_transferred", text),
            NotTransferred::Late => Problem::of(Kind::Away, "not_transferred", text),
        }
    }
}

impl From<NotRemoved> for Problem {
    fn from(why: NotRemoved) -> Problem {
        let text = why.to_string();
        match why {
            NotRemoved::NotHere(why) => why.into(),
            NotRemoved::NotDecidedHere | NotRemoved::Leads(_) | NotRemoved::Refused(_) => {
                Problem::of(Kind::Conflict, "not_removed", text)
            }
        }
    }
}

/// Random numbers could not be had.
impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    }
}

impl From<LookupError> for Problem {
    fn from(why: LookupError) -> Problem {
        let text = why.to_string();
        let away = |code| Problem::of(Kind::Away, code, text.clone()).after(Some(SOON));
        match why {
            LookupError::Query(QueryError::Cursor) => Problem::malformed(text),
            LookupError::Behind(_) => away("registry_behind"),
            LookupError::Stopped => away("shutting_down"),
            LookupError::Query(QueryError::Store(_)) => {
                Problem::of(Kind::Unreadable, "registry_unreadable", text)
            }
        }
    }
}

impl From<HistoryError> for Problem {
    fn from(why: HistoryError) -> Problem {
        let (kind, code) = match why {
            HistoryError::Read(ReadError::Truncated { .. }) => (Kind::Gone, "truncated"),
            HistoryError::Read(ReadError::Damaged(_)) => (Kind::Damaged, "journal_unreadable"),
            HistoryError::Read(ReadError::Io(_)) => (Kind::Unreadable, "journal_unreadable"),
            HistoryError::Stopped => (Kind::Away, "shutting_down"),
        };
        Problem::of(kind, code, why.to_string()).after((kind == Kind::Away).then_some(SOON))
    }
}

impl From<Unanswered> for Problem {
    fn from(why: Unanswered) -> Problem {
        match why {
            Unanswered::Refused(why) => why.into(),
            Unanswered::Unavailable(why) => why.into(),
            Unanswered::Lookup(why) => why.into(),
            Unanswered::Logs(LogsError::Stopped) => {
                Problem::of(Kind::Away, "shutting_down", why.to_string()).after(Some(SOON))
            }
            Unanswered::Logs(LogsError::Store(_)) => {
                Problem::of(Kind::Unreadable, "logs_unreadable", why.to_string())
            }
            Unanswered::History(why) => why.into(),
            Unanswered::TooSlow => Problem::of(Kind::Away, "too_slow", why.to_string()),
            Unanswered::UnknownRun { .. } => Problem::unknown("unknown_run", why.to_string()),
            Unanswered::UnknownJob { .. } => Problem::unknown("unknown_job", why.to_string()),
        }
    }
}

impl From<Foreign> for Problem {
    fn from(foreign: Foreign) -> Problem {
        let (status, code) = match foreign {
            Foreign::NoHost => (StatusCode::BAD_REQUEST, "no_host"),
            Foreign::Host { .. } => (StatusCode::MISDIRECTED_REQUEST, "unknown_host"),
            Foreign::Origin { .. } => (StatusCode::FORBIDDEN, "foreign_origin"),
        };
        Problem::new(status, code, foreign.to_string())
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Problem {
        let (status, code) = match denied {
            Denied::NoToken => (StatusCode::UNAUTHORIZED, "no_token"),
            Denied::UnknownToken => (StatusCode::UNAUTHORIZED, "unknown_token"),
            Denied::Expired { .. } => (StatusCode::UNAUTHORIZED, "expired_token"),
            Denied::Namespace { .. } => (StatusCode::FORBIDDEN, "namespace"),
            Denied::Role { .. } => (StatusCode::FORBIDDEN, "role"),
            Denied::Nobody => (StatusCode::FORBIDDEN, "nobody"),
        };
        Problem::new(status, code, denied.to_string())
    }
}
