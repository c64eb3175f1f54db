//! How the scheduler does: now, as a stream of one summary a second, and over time.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;

use super::events::{KEEP_ALIVE, KEEP_ALIVE_INTERVAL, WATCHERS_MAX};
use super::read::Query;
use super::{Problem, Rest};
use crate::edges::desk::Summary;
use crate::projections::pulse::{Series, Step};

const EVENT_STREAM: &str = "text/event-stream";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Following {
    /// Go on with one a second, as server-sent events; so does Accept: text/event-stream.
    follow: Option<bool>,
}

/// How the scheduler does
///
/// One summary, or one a second: a kilobyte each, whatever happens. They are made once for all who watch.
#[utoipa::path(
    get, path = "/scheduler/summary", tag = "scheduler", operation_id = "summary",
    params(Following),
    responses((status = 200, content((Summary = "application/json"), (String = "text/event-stream")))),
)]
pub(super) async fn summary(
    State(rest): State<Rest>,
    headers: HeaderMap,
    Query(Following { follow }): Query<Following>,
) -> Result<Response, Problem> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let accepts = accept.is_some_and(|accept| accept.starts_with(EVENT_STREAM));
    let mut summaries = rest.desk.pulse.watch();
    if follow.unwrap_or(accepts) {
        return stream_of(&rest, summaries);
    }
    let first = summaries.wait_for(Option::is_some).await;
    let text = first.ok().and_then(|first| first.clone()).ok_or_else(|| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the scheduler ends")
    })?;
    Ok(([(CONTENT_TYPE, "application/json")], text.to_string()).into_response())
}

fn stream_of(
    rest: &Rest,
    mut summaries: watch::Receiver<Option<Arc<str>>>,
) -> Result<Response, Problem> {
    let place = rest.watchers.clone().try_acquire_owned().map_err(|_| {
        let detail = format!("{WATCHERS_MAX} are watching already; come back later");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_watchers", detail)
    })?;
    // The latest one comes at once.
    summaries.mark_changed();
    // The place is free again when the stream is dropped.
    let pieces = stream::unfold((summaries, place), |(mut summaries, place)| async move {
        let piece = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, summaries.changed()).await {
            Ok(Err(_)) => return None,
            Ok(Ok(())) => match &*summaries.borrow_and_update() {
                Some(summary) => Bytes::from(format!("event: summary\ndata: {summary}\n\n")),
                None => Bytes::from_static(KEEP_ALIVE),
            },
            Err(_) => Bytes::from_static(KEEP_ALIVE),
        };
        Some((Ok::<Bytes, Infallible>(piece), (summaries, place)))
    });
    let headers = [(CONTENT_TYPE, EVENT_STREAM), (CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Span {
    /// `15m`, by second, which is the default; or `24h`, by minute.
    span: Option<String>,
}

/// How the scheduler did over time
///
/// The last 15 minutes by second or the last 24 hours by minute, since the process began.
#[utoipa::path(
    get, path = "/scheduler/series", tag = "scheduler", operation_id = "series",
    params(Span),
    responses((status = 200, body = Series)),
)]
pub(super) async fn series(
    State(rest): State<Rest>,
    Query(Span { span }): Query<Span>,
) -> Result<Json<Series>, Problem> {
    let step = match span.as_deref() {
        None | Some("15m") => Step::Second,
        Some("24h") => Step::Minute,
        Some(other) => {
            let other = bellwether_core::model::excerpt(other);
            return Err(Problem::malformed(format!("span: is {other:?}; it must be 15m or 24h")));
        }
    };
    Ok(Json(rest.desk.pulse.series(step)))
}
