//! `bellwether queues`.

use clap::Args;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::Listing;

/// List the queues in front of the scheduler: what came in, what was set aside, and how many events each
/// has not been told yet. `queue check` tells whether their servers can be used.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Print JSON, one queue a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let queues = arguments.connect.client().await?.queues().await?;
        let headings =
            ["queue", "backend", "taken", "dead letters", "held", "failures", "events", "lag"];
        let mut listing = Listing::new(&headings);
        for queue in &queues {
            if arguments.json {
                output::print_json(&json!({
                    "queue": queue.name,
                    "backend": queue.backend,
                    "taken": queue.taken,
                    "dead_lettered": queue.dead_lettered,
                    "held": queue.held,
                    "failures": queue.failures,
                    "events": queue.events,
                    "events_lag": queue.events_lag,
                }))?;
                continue;
            }
            let counts = [
                queue.taken,
                queue.dead_lettered,
                queue.held,
                queue.failures,
                queue.events,
                queue.events_lag,
            ];
            let mut row = vec![queue.name.as_str().into(), queue.backend.as_str().into()];
            row.extend(counts.map(|count| count.to_string().into()));
            listing.row(row);
        }
        if !arguments.json && queues.is_empty() {
            output::print("no queue is in front; see docs/queues.md\n")?;
        } else if !arguments.json {
            output::print(&listing.render())?;
        }
        Ok(Verdict::Fine)
    })
}
