//! `bellwether retry`.

use clap::Args;

use super::{Connect, block_on, cancel};
use crate::exit::Verdict;

/// Run jobs again that ended without completing.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Ids of the jobs
    #[arg(required = true)]
    ids: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        let refused = client.retry(arguments.ids.clone()).await?;
        cancel::report("reopened", &arguments.ids, &refused, arguments.json)
    })
}
