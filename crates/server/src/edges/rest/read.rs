//! What is read from a request: every failure is a [`Problem`] that says what was wrong.

use std::convert::Infallible;

use axum::RequestExt as _;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bellwether_core::model::Name;
use bellwether_wire::Malformed;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

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

/// A body of JSON, still as it was written.
pub(super) struct RawJson(pub(super) Box<RawValue>);

impl<S: Send + Sync> FromRequest<S> for RawJson {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<RawJson, Problem> {
        let text = text(request).await?;
        serde_json::from_str(&text).map(RawJson).map_err(|why| not_json(&why))
    }
}

/// A body of JSON with known fields.
pub(super) struct Json<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Json<T>, Problem> {
        object(text(request).await?.as_bytes()).map(Json)
    }
}

/// The same where nothing at all will do, too.
pub(super) struct OptionalJson<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<OptionalJson<T>, Problem> {
        let typed = request.headers().contains_key(header::CONTENT_TYPE);
        let json = is_json(request.headers());
        let bytes = bytes(request).await?;
        if !typed && bytes.is_empty() {
            return Ok(OptionalJson(T::default()));
        }
        if !json {
            return Err(not_json_type());
        }
        if bytes == "null" {
            return Ok(OptionalJson(T::default()));
        }
        object(&bytes).map(OptionalJson)
    }
}

/// By way of an object, because a list of the fields' values would be taken for one.
fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let fields: Map<String, Value> = serde_json::from_slice(bytes).map_err(|why| not_json(&why))?;
    serde_json::from_value(Value::Object(fields)).map_err(|why| not_json(&why))
}

async fn text(request: Request) -> Result<String, Problem> {
    if !is_json(request.headers()) {
        return Err(not_json_type());
    }
    let bytes = bytes(request).await?;
    String::from_utf8(bytes.into()).map_err(|_| Problem::malformed("the body is not UTF-8"))
}

async fn bytes(request: Request) -> Result<Bytes, Problem> {
    let read: Result<Bytes, BytesRejection> = request.extract().await;
    read.map_err(|why| match why.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = "the body is larger than message_bytes_max; send less at a time";
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
        }
        _ => Problem::malformed("the body could not be read"),
    })
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

fn not_json(why: &serde_json::Error) -> Problem {
    Problem::malformed(format!("the body could not be read: {why}"))
}

/// What is named in the path.
pub(super) struct Path(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Path {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path, Problem> {
        let read = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let axum::extract::Path(text) = read.map_err(|why| Problem::malformed(why.body_text()))?;
        Ok(Path(text))
    }
}

impl Path {
    /// As a name, which the scheduler can be asked for.
    pub(super) fn name(&self, field: &str) -> Result<Name, Problem> {
        name(field, &self.0)
    }
}

pub(super) fn name(field: &str, text: &str) -> Result<Name, Problem> {
    Name::new(text).map_err(|why| Problem::from(&Malformed::new(field, why)))
}

/// Parameters after the question mark.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let axum::extract::Query(value) =
            read.map_err(|why| Problem::malformed(why.body_text()))?;
        Ok(Query(value))
    }
}
