//! `bellwether audit`: who did what, and when.

use bellwether_core::model::Timestamp;
use bellwether_sdk::v1;
use bellwether_wire::json::unit::Moment;
use clap::Args;
use serde_json::json;

use super::events::payload;
use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// List what people and programs made the scheduler do, as far back as the journal goes: who, by the
/// name of the token, from where, what and why. What workers report and the scheduler decides is in
/// `bellwether events`; who was not let in is in the log and in the metrics.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Only what this one did
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this, as job_cancelled; may be given several times
    #[arg(long, value_name = "KIND")]
    action: Vec<String>,
    /// Only from this time on, as 2030-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = super::moment)]
    since: Option<jiff::Timestamp>,
    /// Only up to this time
    #[arg(long, value_name = "TIME", value_parser = super::moment)]
    until: Option<jiff::Timestamp>,
    /// Print JSON, one line each
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(list(arguments))
}

async fn list(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let request = v1::WatchEventsRequest {
        from: 1,
        kinds: arguments.action.clone(),
        actor: arguments.actor.clone().unwrap_or_default(),
        by_hand: true,
        until_now: true,
        ..Default::default()
    };
    let mut events = client.events(request);
    while let Some(event) = events.next_or_end().await? {
        if !arguments.is_wanted(&event) {
            continue;
        }
        if arguments.json {
            output::print_json(&line(&event))?;
        } else {
            output::print(&readable(&event))?;
        }
    }
    Ok(Verdict::Fine)
}

impl Arguments {
    fn is_wanted(&self, event: &v1::EventEnvelope) -> bool {
        let at = i64::try_from(event.at).unwrap_or(i64::MAX);
        self.since.is_none_or(|since| since.as_microsecond() <= at)
            && self.until.is_none_or(|until| at <= until.as_microsecond())
    }
}

/// What it was done to: a job, a worker or a type.
fn subject(event: &v1::EventEnvelope) -> String {
    let named = [&event.job_id, &event.worker_id].into_iter().find(|name| !name.is_empty());
    named.cloned().or_else(|| said(event, "type")).unwrap_or_default()
}

fn said(event: &v1::EventEnvelope, field: &str) -> Option<String> {
    let payload = payload(event)?;
    payload[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn line(event: &v1::EventEnvelope) -> serde_json::Value {
    json!({
        "position": event.seq,
        "at": Moment(Timestamp(event.at)),
        "actor": event.actor,
        "peer": event.peer,
        "action": event.kind,
        "subject": subject(event),
        "reason": said(event, "reason"),
    })
}

fn readable(event: &v1::EventEnvelope) -> String {
    let at = time_text(event.at).unwrap_or_default();
    let by = format!("{} ({})", event.actor, event.peer);
    let reason = said(event, "reason").map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{at}  {by:<28} {:<18} {}{reason}\n", event.kind, subject(event))
}
