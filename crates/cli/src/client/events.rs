//! `bellwether events`.

use bellwether_core::model::{Seq, Timestamp};
use bellwether_sdk::{Client, v1};
use bellwether_wire::event::entry_from_wire;
use bellwether_wire::json::unit::Moment;
use bellwether_wire::json::{event_to_json, hex};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

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
        ..Default::default()
    };
    read(&client, request, arguments.follow, |event| {
        if arguments.json {
            output::print_json(&line(event))?;
        } else {
            output::print(&readable(event))?;
        }
        Ok(())
    })
    .await?;
    Ok(Verdict::Fine)
}

/// Gives each event, to the last that there is now or for ever.
pub(super) async fn read(
    client: &Client,
    request: v1::WatchEventsRequest,
    follow: bool,
    mut each: impl FnMut(&v1::EventEnvelope) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let last = if follow { u64::MAX } else { client.status().await?.position };
    if request.from > last {
        return Ok(());
    }
    let mut events = client.events(request);
    loop {
        // Filtered streams say nothing of what they left out, so silence has to end it.
        let event = if follow {
            events.next().await?
        } else {
            match tokio::time::timeout(QUIET, events.next()).await {
                Ok(event) => event?,
                Err(_) => return Ok(()),
            }
        };
        if event.seq <= last {
            each(&event)?;
        }
        if event.seq >= last {
            return Ok(());
        }
    }
}

/// History comes without pauses: after this long there is no more of it.
const QUIET: std::time::Duration = std::time::Duration::from_millis(500);

pub(super) fn payload(event: &v1::EventEnvelope) -> Option<Value> {
    let wire = event.payload.clone()?;
    let entry = entry_from_wire(wire, Seq(event.seq), Timestamp(event.at)).ok()?;
    Some(event_to_json(&entry.event))
}

/// An event as it is told elsewhere, with what lies around it in the journal.
#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
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
    payload: Option<Value>,
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
    Line {
        seq: event.seq,
        at: Moment(Timestamp(event.at)),
        parent: (event.parent > 0).then_some(event.parent),
        kind: &event.kind,
        run: &event.run_id,
        node: &event.node,
        job: &event.job_id,
        worker: &event.worker_id,
        actor: &event.actor,
        peer: &event.peer,
        payload: payload(event),
        payload_hash: hex(&event.payload_hash),
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
