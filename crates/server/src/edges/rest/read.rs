//! What is read from a request: every failure is a [`Problem`] that says what was wrong.

use std::convert::Infallible;

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bellwether_core::model::Name;
use bellwether_wire::Malformed;
use bellwether_wire::json::{Unique, fault, in_our_words};
use serde::de::DeserializeOwned;

use super::Rest;
use super::problem::Problem;
use crate::sinks::trace::context::TRACE_PARENT;

/// What the request says of the trace that it belongs to.
pub(super) struct TraceOf(pub(super) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for TraceOf {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<TraceOf, Infallible> {
        let given = parts.headers.get(TRACE_PARENT).and_then(|value| value.to_str().ok());
        Ok(TraceOf(given.map(str::to_owned)))
    }
}

/// The largest body of what is no submission.
const SMALL_BODY_BYTES_MAX: usize = 1 << 20;

/// A body of JSON with known fields.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Rest> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, rest: &Rest) -> Result<Json<T>, Problem> {
        object(&rest.intake.take(request, SMALL_BODY_BYTES_MAX).await?.bytes).map(Json)
    }
}

/// The same where nothing at all will do, too.
pub(super) struct OptionalJson<T>(pub(super) T);

impl<T: DeserializeOwned + Default> FromRequest<Rest> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, rest: &Rest) -> Result<OptionalJson<T>, Problem> {
        let typed = request.headers().contains_key(header::CONTENT_TYPE);
        let bytes = rest.intake.take(request, SMALL_BODY_BYTES_MAX).await?.bytes;
        if (!typed && bytes.is_empty()) || bytes == b"null" {
            return Ok(OptionalJson(T::default()));
        }
        object(&bytes).map(OptionalJson)
    }
}

/// By way of an object, because a list of the fields' values would be taken for one.
fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let Unique(value) = serde_json::from_slice(bytes).map_err(|why| not_json(&why))?;
    if !value.is_object() {
        return Err(Problem::malformed("the body must be an object with named fields"));
    }
    serde_json::from_value(value).map_err(|why| not_json(&why))
}

/// What is sent must be JSON and say so: a form of another site's page can be sent without asking,
/// and JSON can't.
pub(super) fn check_type(request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let typed = headers.contains_key(header::CONTENT_TYPE);
    let empty = request.body().is_end_stream();
    if (typed && !is_json(headers)) || (!typed && !empty) { Err(not_json_type()) } else { Ok(()) }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn not_json_type() -> Problem {
    let detail = "the body must be JSON, with the header `content-type: application/json`";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail)
}

pub(super) fn not_json(why: &serde_json::Error) -> Problem {
    Problem::malformed(format!("the body could not be read: {}", fault(why)))
}

/// What the library says of a part of the address, behind its own introduction.
fn of_address(message: &str) -> Problem {
    let introductions = ["Failed to deserialize query string: ", "Invalid URL: "];
    let told = introductions.iter().find_map(|one| message.strip_prefix(one)).unwrap_or(message);
    Problem::malformed(in_our_words(told))
}

/// What is named in the path.
pub(super) struct Path(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Path {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path, Problem> {
        let read = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let axum::extract::Path(text) = read.map_err(|why| of_address(&why.body_text()))?;
        Ok(Path(text))
    }
}

impl Path {
    /// As a name or an id, which the scheduler can be asked for.
    pub(super) fn name<N: From<Name>>(&self, field: &str) -> Result<N, Problem> {
        name(field, &self.0)
    }
}

pub(super) fn name<N: From<Name>>(field: &str, text: &str) -> Result<N, Problem> {
    Name::new(text).map(N::from).map_err(|why| Problem::from(&Malformed::new(field, why)))
}

/// Parameters after the question mark.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let axum::extract::Query(value) = read.map_err(|why| of_address(&why.body_text()))?;
        Ok(Query(value))
    }
}
