//! `bellwether cancel`.

use clap::Args;

use super::bulk::{self, Deed, Targets};
use super::{Connect, block_on};
use crate::exit::Verdict;

/// Cancel jobs; those that run are stopped.
///
/// Either those that are named, or all that have not ended and fit the options.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    #[command(flatten)]
    targets: Targets,
    /// Why, for the history
    #[arg(long, default_value = "")]
    reason: String,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        bulk::run(&client, arguments.targets, Deed::Cancel { reason: arguments.reason }).await
    })
}
