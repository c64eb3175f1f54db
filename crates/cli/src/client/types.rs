//! `bellwether types`: what kinds of jobs there are, and who handles them.

use std::collections::BTreeMap;

use bellwether_wire::words::span;
use clap::Args;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::Listing;

/// List types of jobs: who handles them, how long they take, which are paused.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Print JSON, one type a line
    #[arg(long)]
    json: bool,
}

/// What is known of a type.
#[derive(Debug, Default)]
struct Known {
    workers: usize,
    paused: bool,
    /// Microseconds, and the jobs behind them.
    estimate: Option<(u64, u32)>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        let mut types: BTreeMap<String, Known> = BTreeMap::new();
        for worker in client.workers(false).await? {
            for kind in worker.spec.unwrap_or_default().types {
                types.entry(kind).or_default().workers += 1;
            }
        }
        for kind in client.status().await?.paused_types {
            types.entry(kind).or_default().paused = true;
        }
        for kind in client.predictions("").await?.types {
            types.entry(kind.r#type).or_default().estimate = Some((kind.estimate, kind.samples));
        }
        show(&types, arguments.json)?;
        Ok(Verdict::Fine)
    })
}

fn show(types: &BTreeMap<String, Known>, as_json: bool) -> anyhow::Result<()> {
    let mut listing = Listing::new(&["type", "workers", "paused", "usually takes", "jobs seen"]);
    for (kind, known) in types {
        if as_json {
            output::print_json(&json!({
                "type": kind,
                "workers": known.workers,
                "paused": known.paused,
                "estimate": known.estimate.map(|(micros, _)| micros as f64 / 1e6),
                "samples": known.estimate.map_or(0, |(_, samples)| samples),
            }))?;
            continue;
        }
        listing.row(vec![
            kind.as_str().into(),
            known.workers.to_string().into(),
            if known.paused { "yes" } else { "" }.into(),
            known.estimate.map_or_else(String::new, |(micros, _)| span(micros)).into(),
            known.estimate.map_or(0, |(_, samples)| samples).to_string().into(),
        ]);
    }
    if !as_json {
        output::print(&listing.render())?;
    }
    Ok(())
}
