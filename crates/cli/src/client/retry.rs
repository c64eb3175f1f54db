//! `bellwether retry`.

use clap::Args;

use super::bulk::{self, Deed, Targets};
use super::{Connect, block_on};
use crate::exit::Verdict;

/// Run jobs again that ended without completing.
///
/// Either those that are named, or all that failed, were cancelled or dead-lettered and fit the
/// options. Jobs that were skipped come back with those that they were skipped for.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    #[command(flatten)]
    targets: Targets,
    /// Even jobs that are to run at most once and may have run
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        bulk::run(&client, arguments.targets, Deed::Retry { force: arguments.force }).await
    })
}
