//! Events as they happen: server-sent events that can be taken up again where they broke off.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bellwether_core::model::Seq;
use bellwether_wire::json::cloud_events;
use futures_util::stream;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::read::Query;
use super::{Problem, Rest};
use crate::edges::desk::{EventsWanted, Start, is_wanted};
use crate::projections::history::Seen;

/// Those who may watch at a time.
pub(super) const WATCHERS_MAX: usize = 256;
/// A comment, now and again when nothing happens, so that nobody takes the connection for dead.
pub(super) const KEEP_ALIVE: &[u8] = b":\n\n";
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventFilter {
    /// Kinds as job_completed, with commas between them; none: all.
    #[param(style = Form, explode = false, value_type = Option<Vec<String>>)]
    kind: Option<String>,
    /// The id of a job.
    job: Option<String>,
    /// The id of a run.
    run: Option<String>,
    /// The name of whoever wished for it.
    actor: Option<String>,
    /// Only what somebody from outside wished for.
    by_hand: Option<bool>,
    /// The first journal position wanted; without it and Last-Event-ID, from now on.
    #[param(minimum = 1)]
    from: Option<u64>,
    /// Go on as events happen, which is the default; else end with what there is now.
    follow: Option<bool>,
}

/// One of the events of the stream.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it stands for its schema")]
struct SentEvent {
    /// Its place in the journal; absent if the stream ends with a problem.
    id: Option<String>,
    /// Its kind, as job_completed.
    event: String,
    /// A CloudEvent (1.0), in JSON.
    data: String,
}

/// Watch events
///
/// Server-sent events, each a CloudEvent (1.0, JSON). The id is its place in the journal: whoever
/// comes back with it as Last-Event-ID misses nothing and sees nothing twice.
#[utoipa::path(
    get, path = "/scheduler/events", tag = "events", operation_id = "watch_events",
    params(
        EventFilter,
        ("Last-Event-ID" = Option<String>, Header, description = "The last one that was seen"),
    ),
    responses(
        (status = 200, body = SentEvent, content_type = "text/event-stream"),
        (status = 410, description = "The journal no longer has what was asked for"),
    ),
)]
pub(super) async fn watch(
    State(rest): State<Rest>,
    headers: HeaderMap,
    Query(filter): Query<EventFilter>,
) -> Result<Response, Problem> {
    let place = rest.watchers.clone().try_acquire_owned().map_err(|_| {
        let detail = format!("{WATCHERS_MAX} are watching already; come back later");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_watchers", detail)
    })?;
    let start = start(&headers, filter.from)?;
    check_reach(&rest, start).await?;
    let kinds = filter.kind.iter().flat_map(|kinds| kinds.split(','));
    let kinds: Vec<String> = kinds.filter(|kind| !kind.is_empty()).map(str::to_owned).collect();
    EventsWanted::check_kinds(&kinds).map_err(|why| Problem::from(&why))?;
    let wanted = EventsWanted {
        from: start.first(),
        kinds,
        job: filter.job.clone(),
        run: filter.run,
        actor: filter.actor,
        by_hand: filter.by_hand.unwrap_or(false),
        follow: filter.follow.unwrap_or(true),
    };
    let kinds = wanted.kinds.clone();
    let told = Told { source: rest.identity.clone(), start, job: filter.job, kinds };
    // In one piece, so that the thread that serves connections has nothing to do but to send it.
    let tell = move |seen: Vec<Seen>| {
        let mut text = String::new();
        seen.iter().for_each(|seen| told.write(seen, &mut text));
        Bytes::from(text)
    };
    let events = rest.desk.events(wanted, tell);
    // The place is free again when the stream is dropped.
    let pieces = stream::unfold((events, place), |(mut events, place)| async move {
        let piece = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, events.recv()).await {
            Ok(None) => return None,
            Ok(Some(Ok(text))) => text,
            Ok(Some(Err(why))) => problem(&why.into()),
            Err(_) => Bytes::from_static(KEEP_ALIVE),
        };
        Some((Ok::<Bytes, Infallible>(piece), (events, place)))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The stream ends with it.
pub(super) fn problem(why: &Problem) -> Bytes {
    let text = serde_json::to_string(why).expect("texts and numbers have a JSON form");
    Bytes::from(format!("event: problem\ndata: {text}\n\n"))
}

async fn check_reach(rest: &Rest, start: Start) -> Result<(), Problem> {
    let Some(first) = start.first() else { return Ok(()) };
    let durable = rest.desk.handle.durable();
    if first > durable.next() {
        let detail = format!("the journal ends at position {durable}; {first} lies ahead of it");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "position_ahead", detail));
    }
    if first <= durable {
        rest.desk.history.read(first, 1).await?;
    }
    Ok(())
}

/// Where to begin.
fn start(headers: &HeaderMap, from: Option<u64>) -> Result<Start, Problem> {
    let Some(last) = headers.get("last-event-id") else {
        return match from {
            None => Ok(Start::Now),
            Some(0) => Err(Problem::malformed("from: is 0; positions begin with 1")),
            Some(from) => Ok(Start::At(Seq(from))),
        };
    };
    let last = last.to_str().unwrap_or_default();
    Start::behind(last).ok_or_else(|| {
        Problem::malformed(format!("Last-Event-ID: is {last:?}; it must be one that was sent"))
    })
}

/// How events are told.
struct Told {
    source: crate::identity::Identity,
    start: Start,
    job: Option<String>,
    kinds: Vec<String>,
}

impl Told {
    fn write(&self, seen: &Seen, text: &mut String) {
        let entry = seen.entry();
        let events = cloud_events(self.source.as_str(), entry, seen.names())
            .skip(self.start.seen_at(entry.seq))
            .filter(|event| self.job.is_none() || event.subject == self.job.as_deref())
            .filter(|event| is_wanted(&self.kinds, event.kind()));
        for event in events {
            let data = serde_json::to_string(&event).expect("an event has a JSON form");
            let (id, kind) = (event.id, event.kind());
            write!(text, "id: {id}\nevent: {kind}\ndata: {data}\n\n")
                .expect("a text takes what is written to it");
        }
    }
}
