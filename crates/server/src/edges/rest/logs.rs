//! What a job prints: as it is, or as server-sent events while it runs.

use std::convert::Infallible;
use std::ops::Range;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bellwether_wire::json::unit::{Moment, moment};
use bellwether_wire::v1;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::events::{KEEP_ALIVE, KEEP_ALIVE_INTERVAL, WATCHERS_MAX, problem};
use super::read::{Path, Query};
use super::{Problem, Rest};
use crate::edges::desk::LogsWanted;

/// No job is tried more often.
const ATTEMPT_MAX: u32 = 1_000_000;
const EVENT_STREAM: &str = "text/event-stream";
/// Of output that is asked for in one piece, so many bytes are told: the last ones.
const PLAIN_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogFilter {
    /// Only that of one attempt, counted from 1.
    #[param(minimum = 1, maximum = 1_000_000)]
    attempt: Option<u32>,
    /// Server-sent events until the job has ended, which is the default with Accept: text/event-stream;
    /// else it ends with what there is now.
    follow: Option<bool>,
}

/// The data of a server-sent event.
#[derive(Debug, Serialize, ToSchema)]
struct LogLine {
    /// Counted from 1.
    attempt: u32,
    worker: String,
    /// stdout, stderr or log.
    stream: &'static str,
    /// Bytes that the attempt printed before it.
    position: u64,
    /// When, by the worker's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Moment>,
    /// Bytes that were cut just before it.
    #[serde(skip_serializing_if = "is_zero")]
    cut: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Instead of the text, where the bytes are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Read what a job prints
///
/// The output and log lines of its attempts, one after the other, as plain text; a part of it with
/// Range. With `follow`, or Accept: text/event-stream, server-sent events until the job has ended, which
/// can be taken up again with Last-Event-ID. Of much output the beginning and the end are kept; what was
/// cut is told where it was.
#[utoipa::path(
    get, path = "/scheduler/jobs/{id}/logs", tag = "jobs", operation_id = "read_logs",
    params(
        ("id" = String, Path, description = "Its id"),
        LogFilter,
        ("Range" = Option<String>, Header, description = "As bytes=0-999, or bytes=-1000"),
        ("Last-Event-ID" = Option<String>, Header, description = "The last one that was seen"),
    ),
    responses(
        (status = 200, content(
            (String = "text/plain"),
            (LogLine = "text/event-stream"),
        )),
        (status = 206, body = String, content_type = "text/plain"),
        (status = 404, description = "It is not known"),
        (status = 416, description = "There is nothing in this range"),
    ),
)]
pub(super) async fn watch(
    State(rest): State<Rest>,
    Path(id): Path,
    headers: HeaderMap,
    Query(filter): Query<LogFilter>,
) -> Result<Response, Problem> {
    if let Some(attempt) = filter.attempt
        && !(1..=ATTEMPT_MAX).contains(&attempt)
    {
        let detail = format!("attempt: is {attempt}; it must be from 1 to {ATTEMPT_MAX}");
        return Err(Problem::malformed(detail));
    }
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let accepts = text(header::ACCEPT).is_some_and(|accept| accept.starts_with(EVENT_STREAM));
    let follow = filter.follow.unwrap_or(accepts);
    let streams = accepts || follow;
    let after = match headers.get("last-event-id").filter(|_| streams) {
        None => 0,
        Some(last) => last
            .to_str()
            .ok()
            .and_then(|last| last.parse().ok())
            .ok_or_else(|| Problem::malformed("Last-Event-ID: must be one that was sent"))?,
    };
    let wanted = LogsWanted { id, attempt: filter.attempt, follow, after };
    if streams {
        events(&rest, wanted).await
    } else {
        plain(&rest, wanted, text(header::RANGE)).await
    }
}

async fn events(rest: &Rest, wanted: LogsWanted) -> Result<Response, Problem> {
    let place = rest.watchers.clone().try_acquire_owned().map_err(|_| {
        let detail = format!("{WATCHERS_MAX} are watching already; come back later");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_watchers", detail)
    })?;
    let output = rest.desk.logs(wanted).await?;
    // The place is free again when the stream is dropped.
    let pieces = stream::unfold((output, place), |(mut output, place)| async move {
        let piece = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, output.recv()).await {
            Ok(None) => return None,
            Ok(Some(Ok(response))) => sent(response),
            Ok(Some(Err(why))) => problem(&why.into()),
            Err(_) => Bytes::from_static(KEEP_ALIVE),
        };
        Some((Ok::<Bytes, Infallible>(piece), (output, place)))
    });
    let headers = [(header::CONTENT_TYPE, EVENT_STREAM), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// All pieces of a message but the last come without an id: whoever breaks off in between gets them
/// again.
fn sent(response: v1::WatchLogsResponse) -> Bytes {
    let mut text = String::new();
    let count = response.pieces.len();
    for (index, piece) in response.pieces.into_iter().enumerate() {
        if index + 1 == count {
            text += &format!("id: {}\n", response.cursor);
        }
        let line = LogLine::from(piece);
        let data = serde_json::to_string(&line).expect("a piece of output has a JSON form");
        text += &format!("event: {}\ndata: {data}\n\n", line.stream);
    }
    Bytes::from(text)
}

impl From<v1::LogPiece> for LogLine {
    fn from(piece: v1::LogPiece) -> LogLine {
        let stream = piece.stream().as_str();
        let v1::LogPiece { attempt, worker, position, at, data, cut, .. } = piece;
        let (text, base64) = match String::from_utf8(data.into()) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(STANDARD.encode(bytes.as_bytes()))),
        };
        LogLine { attempt, worker, stream, position, at: moment(at), cut, text, base64 }
    }
}

async fn plain(rest: &Rest, wanted: LogsWanted, range: Option<&str>) -> Result<Response, Problem> {
    let mut output = rest.desk.logs(wanted).await?;
    let mut body = Vec::new();
    let mut left_out = 0;
    while let Some(response) = output.recv().await {
        for piece in response?.pieces {
            if piece.cut > 0 {
                body.extend_from_slice(format!("[{} bytes were cut here]\n", piece.cut).as_bytes());
            }
            body.extend_from_slice(&piece.data);
        }
        let excess = body.len().saturating_sub(PLAIN_BYTES_MAX);
        left_out += excess;
        body.drain(..excess);
    }
    if left_out > 0 {
        let told = format!("[{left_out} bytes are left out; ask for one attempt]\n");
        body.splice(0..0, told.into_bytes());
    }
    let kind = (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned());
    let ranges = (header::ACCEPT_RANGES, "bytes".to_owned());
    let total = body.len();
    match range.and_then(|range| Wanted::parse(range, total)) {
        None => Ok(([kind, ranges], body).into_response()),
        Some(Wanted::Nothing) => {
            let detail = format!("the output has {total} bytes");
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            Err(Problem::new(status, "no_such_range", detail))
        }
        Some(Wanted::Bytes(Range { start, end })) => {
            let told = format!("bytes {start}-{}/{total}", end - 1);
            let content_range = (header::CONTENT_RANGE, told);
            let part = Bytes::from(body).slice(start..end);
            Ok((StatusCode::PARTIAL_CONTENT, [kind, ranges, content_range], part).into_response())
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Bytes(Range<usize>),
    Nothing,
}

impl Wanted {
    /// None for what is no single range of bytes, which is answered with the whole, as RFC 9110 has it.
    fn parse(text: &str, total: usize) -> Option<Wanted> {
        let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
        let range = match (first.parse::<usize>().ok(), last.parse::<usize>().ok()) {
            (Some(first), Some(last)) if last >= first => first..last.saturating_add(1).min(total),
            (Some(first), None) if last.is_empty() => first..total,
            (None, Some(last)) if first.is_empty() => total.saturating_sub(last)..total,
            _ => return None,
        };
        Some(if range.is_empty() { Wanted::Nothing } else { Wanted::Bytes(range) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        let bytes = |range| Some(Wanted::Bytes(range));
        assert_eq!(Wanted::parse("bytes=0-9", 100), bytes(0..10));
        assert_eq!(Wanted::parse("bytes=90-200", 100), bytes(90..100));
        assert_eq!(Wanted::parse("bytes=95-", 100), bytes(95..100));
        assert_eq!(Wanted::parse("bytes=-5", 100), bytes(95..100));
        assert_eq!(Wanted::parse("bytes=-500", 100), bytes(0..100));
        assert_eq!(Wanted::parse("bytes=100-", 100), Some(Wanted::Nothing));
        assert_eq!(Wanted::parse("bytes=-0", 100), Some(Wanted::Nothing));
        for whole in ["bytes=9-0", "bytes=0-1,5-6", "lines=0-1", "bytes=x-"] {
            assert_eq!(Wanted::parse(whole, 100), None, "{whole}");
        }
    }
}
