//! `bellwether cancel`.

use bellwether_sdk::Refusal;
use clap::Args;
use serde_json::{Value, json};

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Cancel jobs; those that run are stopped.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Ids of the jobs
    #[arg(required = true)]
    ids: Vec<String>,
    /// Why, for the history
    #[arg(long, default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        let refused = client.cancel(arguments.ids.clone(), &arguments.reason).await?;
        report("cancelled", &arguments.ids, &refused, arguments.json)
    })
}

/// Says of each job what came of it.
pub(super) fn report(
    done: &str,
    ids: &[String],
    refused: &[(String, Refusal)],
    as_json: bool,
) -> anyhow::Result<Verdict> {
    let is_refused = |id: &String| refused.iter().any(|(other, _)| other == id);
    let fine: Vec<&String> = ids.iter().filter(|id| !is_refused(id)).collect();
    if as_json {
        let refused: Vec<Value> = refused
            .iter()
            .map(|(id, why)| json!({ "id": id, "code": why.code, "message": why.message }))
            .collect();
        output::print_json(&json!({ done: fine, "refused": refused }))?;
    } else {
        for id in fine {
            output::print(&format!("{id} {done}\n"))?;
        }
        for (_, refusal) in refused {
            eprintln!("error: {refusal}");
        }
    }
    Ok(if refused.is_empty() { Verdict::Fine } else { Verdict::Refused })
}
