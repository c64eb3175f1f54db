//! `bellwether reload`.

use clap::Args;
use serde_json::{Value, json};

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Let the scheduler read tokens, certificates and log levels again, as on SIGHUP.
///
/// Connections stay. What can't be read or used is told, and stays as it was; then it exits with 1.
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
        let reloaded = arguments.connect.client().await?.reload().await?;
        if arguments.json {
            let shown: Vec<Value> = reloaded
                .iter()
                .map(|one| {
                    let outcome = if one.failed { "failed" } else { "done" };
                    json!({ "what": one.what, outcome: one.outcome })
                })
                .collect();
            output::print_json(&shown)?;
        } else {
            let line = |one: &bellwether_sdk::v1::Reloaded| {
                let mark = if one.failed { "bad" } else { "ok" };
                format!("{mark:>4}  {:<13} {}\n", one.what, one.outcome)
            };
            output::print(&reloaded.iter().map(line).collect::<String>())?;
        }
        let failed = reloaded.iter().any(|one| one.failed);
        Ok(if failed { Verdict::CheckFailed } else { Verdict::Fine })
    })
}
