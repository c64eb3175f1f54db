//! `bellwether status`.

use bellwether_sdk::v1;
use bellwether_wire::json::Status;
use clap::Args;

use super::{Connect, block_on};
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
            output::print_json(&Status::from(status))?;
        } else {
            output::print(&readable(&status))?;
        }
        Ok(Verdict::Fine)
    })
}

fn readable(status: &v1::StatusResponse) -> String {
    let jobs: Vec<String> = status
        .jobs
        .iter()
        .filter(|count| count.count > 0)
        .map(|count| format!("{} {}", count.count, count.state().as_str()))
        .collect();
    let jobs = if jobs.is_empty() { "none".to_owned() } else { jobs.join(", ") };
    let mut text = format!(
        "bellwether {}, {}, position {}\n  jobs     {jobs}\n  workers  {}, {} of {} slots in use\n  \
         queue    {}% filled\n  placing  {} with predictor {}, breaker {}\n",
        status.version,
        status.role().as_str(),
        status.position,
        status.workers,
        status.slots_used,
        status.slots,
        status.filled_percent,
        status.strategy().as_str(),
        status.predictor().as_str(),
        status.breaker().as_str(),
    );
    if !status.leader.is_empty() {
        text.push_str(&format!(
            "  follows  {}, epoch {}, {} events behind\n",
            status.leader, status.epoch, status.behind
        ));
    } else if status.role() == v1::SchedulerRole::Leader {
        text.push_str(&format!("  leads    in epoch {}\n", status.epoch));
    } else if status.role() == v1::SchedulerRole::Follower {
        text.push_str("  follows  nobody: no scheduler is known to lead\n");
    }
    if !status.paused_types.is_empty() {
        text.push_str(&format!("  paused   {}\n", status.paused_types.join(", ")));
    }
    if status.read_only {
        text.push_str(&format!("  refuses new work: {}\n", status.explanation));
    }
    text
}
