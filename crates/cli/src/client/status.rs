//! `bellwether status`.

use bellwether_sdk::v1;
use bellwether_wire::json::hex;
use clap::Args;
use serde_json::{Map, Value, json};

use super::job_json::time;
use super::{Connect, block_on, names};
use crate::exit::Verdict;
use crate::output;

/// Show how the scheduler is.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let status = arguments.connect.client().await?.status().await?;
        if arguments.json {
            output::print_json(&status_to_json(&status))?;
        } else {
            output::print(&readable(&status))?;
        }
        Ok(Verdict::Fine)
    })
}

fn status_to_json(status: &v1::StatusResponse) -> Value {
    let mut jobs = Map::new();
    for count in &status.jobs {
        jobs.insert(names::detail(count.state()).to_owned(), json!(count.count));
    }
    json!({
        "version": status.version,
        "role": status.role,
        "epoch": status.epoch,
        "position": status.position,
        "chain": hex(&status.chain),
        "started_at": time(status.started_at),
        "jobs": jobs,
        "workers": status.workers,
        "slots": status.slots,
        "slots_used": status.slots_used,
        "filled_percent": status.filled_percent,
        "strategy": status.strategy,
        "predictor": status.predictor,
        "breaker": status.breaker,
        "paused_types": status.paused_types,
        "config_version": status.config_version,
        "read_only": status.read_only,
        "explanation": status.explanation,
    })
}

fn readable(status: &v1::StatusResponse) -> String {
    let jobs: Vec<String> = status
        .jobs
        .iter()
        .filter(|count| count.count > 0)
        .map(|count| format!("{} {}", count.count, names::detail(count.state())))
        .collect();
    let jobs = if jobs.is_empty() { "none".to_owned() } else { jobs.join(", ") };
    let mut text = format!(
        "bellwether {}, {}, position {}\n  jobs     {jobs}\n  workers  {}, {} of {} slots in use\n  \
         queue    {}% filled\n  placing  {} with predictor {}, breaker {}\n",
        status.version,
        status.role,
        status.position,
        status.workers,
        status.slots_used,
        status.slots,
        status.filled_percent,
        status.strategy,
        status.predictor,
        status.breaker,
    );
    if !status.paused_types.is_empty() {
        text.push_str(&format!("  paused   {}\n", status.paused_types.join(", ")));
    }
    if status.read_only {
        text.push_str(&format!("  refuses new work: {}\n", status.explanation));
    }
    text
}
