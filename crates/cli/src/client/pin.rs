//! `bellwether pin`.

use clap::Args;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Let only this worker run a job that waits.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Id of the job
    id: String,
    /// Id of the worker
    worker: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let Arguments { connect, id, worker, json } = arguments;
        connect.client().await?.pin(&id, &worker).await?;
        if json {
            output::print_json(&json!({ "id": id, "worker": worker }))?;
        } else {
            output::print(&format!("{id} goes to {worker} only\n"))?;
        }
        Ok(Verdict::Fine)
    })
}
