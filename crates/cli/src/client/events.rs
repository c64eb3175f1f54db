//! `bellwether events`.

use bellwether_core::model::{Seq, Timestamp};
use bellwether_sdk::v1;
use bellwether_wire::event::entry_from_wire;
use bellwether_wire::json::unit::Moment;
use bellwether_wire::json::{event_to_json, hex};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Print events, as they are or as they happen.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// The first journal position wanted; without it, the oldest kept, or with --follow the next
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// Go on behind the event with this id, as --json and REST tell it
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    after: Option<String>,
    /// Go on as events happen
    #[arg(long)]
    follow: bool,
    /// Only events of this kind, as job_completed; may be given several times
    #[arg(long)]
    kind: Vec<String>,
    /// Only events of this job
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// Only events of this run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only what this one wished for, by the name of the token
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Print JSON, one event a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(watch(arguments))
}

async fn watch(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let request = v1::WatchEventsRequest {
        from: match arguments.from {
            Some(from) => from.max(1),
            None if arguments.follow => 0,
            None => 1,
        },
        kinds: arguments.kind.clone(),
        job_id: arguments.job.clone().unwrap_or_default(),
        run_id: arguments.run.clone().unwrap_or_default(),
        actor: arguments.actor.clone().unwrap_or_default(),
        until_now: !arguments.follow,
        after: arguments.after.clone().unwrap_or_default(),
        ..Default::default()
    };
    let mut events = client.events(request);
    while let Some(event) = events.next_or_end().await? {
        if arguments.json {
            output::print_json(&line(&event))?;
        } else {
            output::print(&readable(&event))?;
        }
    }
    Ok(Verdict::Fine)
}

pub(super) fn payload(event: &v1::EventEnvelope) -> Option<Value> {
    let wire = event.payload.clone()?;
    let entry = entry_from_wire(wire, Seq(event.seq), Timestamp(event.at)).ok()?;
    Some(event_to_json(&entry.event))
}

/// An event as it is told elsewhere, with what lies around it in the journal.
#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    /// The position, and the place of the event among those that have it in common.
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u64>,
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    run: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    node: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    job: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    worker: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    actor: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    peer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    /// Blake3 of the payload as it stands here.
    #[serde(skip_serializing_if = "String::is_empty")]
    payload_hash: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    prior_hash: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    post_hash: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
}

fn line(event: &v1::EventEnvelope) -> Line<'_> {
    let payload = payload(event).and_then(|payload| to_raw_value(&payload).ok());
    let hash = payload.as_ref().map(|payload| blake3::hash(payload.get().as_bytes()));
    Line {
        seq: event.seq,
        id: &event.id,
        at: Moment(Timestamp(event.at)),
        parent: (event.parent > 0).then_some(event.parent),
        kind: &event.kind,
        run: &event.run_id,
        node: &event.node,
        job: &event.job_id,
        worker: &event.worker_id,
        actor: &event.actor,
        peer: &event.peer,
        payload,
        payload_hash: hash.map_or_else(String::new, |hash| hash.to_string()),
        prior_hash: hex(&event.prior_hash),
        post_hash: hex(&event.post_hash),
        error: &event.error,
    }
}

fn readable(event: &v1::EventEnvelope) -> String {
    let at = time_text(event.at).unwrap_or_default();
    let by = if event.actor.is_empty() { String::new() } else { format!("by {}", event.actor) };
    let about = [&event.job_id, &event.worker_id, &event.error, &by];
    let about: Vec<&str> =
        about.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    format!("{:>8}  {at}  {:<18} {}\n", event.seq, event.kind, about.join("  "))
}
