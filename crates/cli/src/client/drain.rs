//! `bellwether drain`.

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
        if arguments.json {
            output::print_json(&json!({ "worker": worker, "draining": !arguments.undo }))?;
        } else {
            let does = if arguments.undo { "takes jobs again" } else { "takes no more jobs" };
            output::print(&format!("{worker} {does}\n"))?;
        }
        Ok(Verdict::Fine)
    })
}
