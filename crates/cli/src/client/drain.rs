//! `bellwether drain`.

use std::time::Duration;

use bellwether_sdk::{Client, v1};
use clap::Args;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Let a worker finish what it holds and give it no more.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Id of the worker
    worker: String,
    /// Give it jobs again
    #[arg(long)]
    undo: bool,
    /// Return once it holds no more jobs
    #[arg(long, conflicts_with = "undo")]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        let worker = &arguments.worker;
        if arguments.undo {
            client.undrain(worker).await?;
        } else {
            client.drain(worker).await?;
        }
        if arguments.wait {
            until_empty(&client, worker).await?;
        }
        if arguments.json {
            output::print_json(&json!({ "worker": worker, "draining": !arguments.undo }))?;
        } else {
            let does = if arguments.undo { "takes jobs again" } else { "takes no more jobs" };
            output::print(&format!("{worker} {does}\n"))?;
        }
        Ok(Verdict::Fine)
    })
}

/// How often a worker that drains is looked at.
const PAUSE: Duration = Duration::from_millis(200);

async fn until_empty(client: &Client, worker: &str) -> anyhow::Result<()> {
    loop {
        let workers = client.workers(false).await?;
        let is_it = |one: &&v1::Worker| one.spec.as_ref().is_some_and(|spec| spec.id == worker);
        // One that is gone holds nothing.
        if workers.iter().find(is_it).is_none_or(|worker| worker.held.is_empty()) {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
