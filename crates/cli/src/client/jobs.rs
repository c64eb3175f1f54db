//! `bellwether jobs`: find jobs.

use bellwether_core::model::JobStatus;
use bellwether_sdk::v1;
use bellwether_wire::Mirror as _;
use bellwether_wire::json::Job;
use clap::Args;
use serde_json::json;

use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::{Listing, Paint};
use crate::simulate::names::parse_word;

/// List jobs, newest first.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Only jobs in this state; may be given several times
    #[arg(long, value_name = "STATE", value_parser = parse_word::<JobStatus>)]
    state: Vec<JobStatus>,
    /// Only jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only jobs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only jobs of this run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only jobs that this worker ran
    #[arg(long)]
    worker: Option<String>,
    /// Only jobs whose id starts like this
    #[arg(long, value_name = "START")]
    id: Option<String>,
    /// Only jobs submitted at this time or later, as 2027-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<u64>,
    /// Only jobs submitted before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<u64>,
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
    const PAGE: usize = 1_000;
    let client = arguments.connect.client().await?;
    let mut filter = v1::ListJobsRequest {
        states: arguments.state.iter().map(|state| state.to_wire()).collect(),
        r#type: arguments.kind.clone().unwrap_or_default(),
        tag: arguments.tag.clone().unwrap_or_default(),
        run_id: arguments.run.clone().unwrap_or_default(),
        worker: arguments.worker.clone().unwrap_or_default(),
        submitted_after: arguments.since.unwrap_or(0),
        submitted_before: arguments.until.unwrap_or(0),
        id_prefix: arguments.id.clone().unwrap_or_default(),
        ..Default::default()
    };
    let mut jobs = Vec::new();
    loop {
        let wanted = (arguments.limit - jobs.len()).min(PAGE);
        filter.limit = u32::try_from(wanted).unwrap_or(u32::MAX);
        let page = client.jobs(filter.clone()).await?;
        jobs.extend(page.jobs.into_iter().take(wanted));
        match page.next {
            Some(next) if jobs.len() < arguments.limit => filter.cursor = next,
            _ => break,
        }
    }
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

fn moment(text: &str) -> Result<u64, String> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .and_then(|time| u64::try_from(time.as_microsecond()).ok())
        .ok_or_else(|| "write it as 2027-01-31T08:00:00Z".to_owned())
}
