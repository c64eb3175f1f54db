//! `bellwether decisions`: the latest, newest first.

use bellwether_sdk::v1;
use bellwether_wire::json::ExplainedDecision;
use clap::Args;

use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::Listing;

/// List decisions, newest first, with their reasons.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Of this job
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// For this worker
    #[arg(long, value_name = "ID")]
    worker: Option<String>,
    /// For jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print JSON, one decision a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(list(arguments))
}

async fn list(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let mut wanted = v1::ListDecisionsRequest {
        job_id: arguments.job.unwrap_or_default(),
        worker: arguments.worker.unwrap_or_default(),
        r#type: arguments.kind.unwrap_or_default(),
        cursor: String::new(),
        limit: arguments.limit,
    };
    let mut listing = Listing::new(&["at", "job", "worker", "reason", "score", "runner-up"]);
    while wanted.limit > 0 {
        let page = client.decisions(wanted.clone()).await?;
        for decision in page.decisions {
            wanted.limit = wanted.limit.saturating_sub(1);
            if arguments.json {
                output::print_json(&ExplainedDecision::from(decision))?;
            } else {
                listing.row(row(&decision).map(Into::into).to_vec());
            }
        }
        if page.next_cursor.is_empty() {
            break;
        }
        wanted.cursor = page.next_cursor;
    }
    if !arguments.json {
        output::print(&listing.render())?;
    }
    Ok(Verdict::Fine)
}

fn row(decision: &v1::ExplainedDecision) -> [String; 6] {
    let score = |millionths: i64| format!("{:.3}", millionths as f64 / 1e6);
    let second = decision
        .runner_up
        .as_ref()
        .map_or_else(String::new, |second| format!("{} {}", second.worker, score(-second.behind)));
    let reason = decision.reason.unwrap_or_default();
    [
        time_text(decision.at).unwrap_or_default(),
        decision.job_id.clone(),
        decision.worker.clone(),
        reason.kind().as_str().to_owned(),
        decision.candidates.first().map_or_else(String::new, |chosen| score(chosen.score)),
        second,
    ]
}
