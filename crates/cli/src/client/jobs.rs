//! `bellwether jobs`: find jobs.

use bellwether_wire::json::Job;
use clap::Args;
use serde_json::json;

use super::filter::{self, JobFilter};
use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::{Listing, Paint};

/// List jobs, newest first.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    #[command(flatten)]
    filter: JobFilter,
    /// How many to show
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON, one job a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(list(arguments))
}

async fn list(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let jobs = filter::find(&client, arguments.filter.request(), arguments.limit).await?;
    if arguments.json {
        for job in jobs {
            output::print_json(&Job::from(job.0))?;
        }
        return Ok(Verdict::Fine);
    }
    let mut listing = Listing::new(&["id", "type", "state", "submitted", "run", "failures"]);
    for job in &jobs {
        let kind = job.0.spec.as_ref().and_then(|spec| spec.requirements.as_ref());
        listing.row(vec![
            job.id().into(),
            kind.map_or("", |requirements| requirements.r#type.as_str()).into(),
            Paint::state(job.state().as_str()),
            time_text(job.0.submitted_at).unwrap_or_default().into(),
            job.0.run_id.as_str().into(),
            json!(job.0.failures + job.0.crashes).to_string().into(),
        ]);
    }
    output::print(&listing.render())?;
    Ok(Verdict::Fine)
}
