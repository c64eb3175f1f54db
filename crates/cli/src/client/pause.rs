//! `bellwether pause` and `bellwether resume`.

use clap::Args;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// What stands for all types.
const ALL: &str = "*";

/// Keep jobs of a type in the queue; those that run go on.
#[derive(Debug, Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    which: Which,
}

/// Let jobs of a type go on.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    #[command(flatten)]
    connect: Connect,
    /// The type of jobs
    #[arg(value_name = "TYPE", required_unless_present = "all", conflicts_with = "all")]
    kind: Option<String>,
    /// Jobs of every type
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn pause(arguments: Pause) -> anyhow::Result<Verdict> {
    block_on(set(arguments.which, true))
}

pub(crate) fn resume(arguments: Resume) -> anyhow::Result<Verdict> {
    block_on(set(arguments.which, false))
}

async fn set(which: Which, paused: bool) -> anyhow::Result<Verdict> {
    let client = which.connect.client().await?;
    let kind = which.kind.as_deref().unwrap_or(ALL);
    if paused {
        client.pause(kind).await?;
    } else {
        client.unpause(kind).await?;
    }
    if which.json {
        output::print_json(&json!({ "type": kind, "paused": paused }))?;
    } else {
        let told = match (kind == ALL, paused) {
            (true, true) => "all types are paused".to_owned(),
            (true, false) => "all types go on, but for those that are paused by name".to_owned(),
            (false, true) => format!("type {kind} is paused"),
            (false, false) => format!("type {kind} goes on"),
        };
        output::print(&format!("{told}\n"))?;
    }
    Ok(Verdict::Fine)
}
