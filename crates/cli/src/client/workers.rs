//! `bellwether workers`.

use bellwether_wire::json::Worker;
use clap::Args;

use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::{Listing, Paint};

/// List workers, what they can and what they hold.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Those that are gone, too
    #[arg(long)]
    all: bool,
    /// Print JSON, one worker a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(list(arguments))
}

async fn list(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let workers = client.workers(arguments.all).await?;
    if arguments.json {
        for worker in workers {
            output::print_json(&Worker::from(worker))?;
        }
        return Ok(Verdict::Fine);
    }
    let mut listing = Listing::new(&[
        "id", "status", "slots", "held", "completed", "failed", "load", "cpu", "memory",
        "last seen", "roles", "zone",
    ]);
    for worker in &workers {
        let spec = worker.spec.clone().unwrap_or_default();
        let beat = worker.beat.unwrap_or_default();
        let share = |permille: u32| output::percent(f64::from(permille) / 1e3).into();
        listing.row(vec![
            spec.id.into(),
            Paint::state(worker.status().as_str()),
            spec.slots.to_string().into(),
            worker.held.len().to_string().into(),
            worker.completed.to_string().into(),
            worker.failed.to_string().into(),
            share(beat.load_permille),
            share(beat.cpu_permille),
            share(beat.memory_permille),
            time_text(worker.last_seen).unwrap_or_default().into(),
            spec.roles.join(",").into(),
            spec.zone.into(),
        ]);
    }
    output::print(&listing.render())?;
    Ok(Verdict::Fine)
}
