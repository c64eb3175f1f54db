//! `bellwether workers`.

use bellwether_sdk::v1;
use clap::Args;
use serde_json::{Value, json};

use super::job_json::time;
use super::{Connect, block_on, names};
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
        for worker in &workers {
            output::print_json(&worker_to_json(worker))?;
        }
        return Ok(Verdict::Fine);
    }
    let mut listing =
        Listing::new(&["id", "status", "slots", "held", "completed", "failed", "roles", "zone"]);
    for worker in &workers {
        let spec = worker.spec.clone().unwrap_or_default();
        listing.row(vec![
            spec.id.into(),
            Paint::state(names::worker_status(worker.status())),
            spec.slots.to_string().into(),
            worker.held.len().to_string().into(),
            worker.completed.to_string().into(),
            worker.failed.to_string().into(),
            spec.roles.join(",").into(),
            spec.zone.into(),
        ]);
    }
    output::print(&listing.render())?;
    Ok(Verdict::Fine)
}

fn worker_to_json(worker: &v1::Worker) -> Value {
    let spec = worker.spec.clone().unwrap_or_default();
    let beat = worker.beat.unwrap_or_default();
    let held: Vec<Value> = worker
        .held
        .iter()
        .map(|held| json!({ "id": held.id, "token": held.token, "running": held.running }))
        .collect();
    json!({
        "id": spec.id,
        "number": worker.worker,
        "status": names::worker_status(worker.status()),
        "connected": worker.connected,
        "slots": spec.slots,
        "zone": spec.zone,
        "class": spec.class,
        "roles": spec.roles,
        "capabilities": spec.capabilities,
        "models": spec.models,
        "cpu": spec.cpu,
        "memory": spec.memory,
        "load": f64::from(beat.load_permille) / 1e3,
        "queue_depth": beat.queue_depth,
        "last_seen": time(worker.last_seen),
        "held": held,
        "completed": worker.completed,
        "failed": worker.failed,
        "busy_s": worker.busy as f64 / 1e6,
        "estimated_available_at": time(worker.estimated_available_at),
    })
}
