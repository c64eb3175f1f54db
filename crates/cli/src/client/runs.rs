//! `bellwether runs`: jobs that were submitted together.

use bellwether_wire::words::counted;
use std::collections::{BTreeMap, BTreeSet};

use bellwether_sdk::client::Job;
use bellwether_sdk::v1;
use bellwether_wire::json::Job as ShownJob;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::bulk::{self, Deed, Targets};
use super::filter::{self, JobFilter};
use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::{self, Verdict};
use crate::output;
use crate::paint::{Listing, Paint};

/// Jobs of one run that are shown.
const JOBS_MAX: usize = 100_000;

/// List runs, show one as a tree, cancel or retry it
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Cancel(Cancel),
    Retry(Retry),
}

/// List runs, newest first.
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    connect: Connect,
    /// How many to show
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print JSON, one run a line
    #[arg(long)]
    json: bool,
}

/// Show the jobs of a run, each below what it depends on.
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    connect: Connect,
    /// Id of the run
    run: String,
    /// Print JSON, one job a line
    #[arg(long)]
    json: bool,
}

/// Cancel all jobs of a run that have not ended.
#[derive(Debug, Args)]
struct Cancel {
    #[command(flatten)]
    connect: Connect,
    /// Id of the run
    run: String,
    /// Why, for the history
    #[arg(long, default_value = "")]
    reason: String,
    /// Only tell which jobs it would be about
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the jobs of a run again that ended without completing.
#[derive(Debug, Args)]
struct Retry {
    #[command(flatten)]
    connect: Connect,
    /// Id of the run
    run: String,
    /// Even jobs that are to run at most once and may have run
    #[arg(long)]
    force: bool,
    /// Only tell which jobs it would be about
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        match arguments.command {
            Command::List(arguments) => list(arguments).await,
            Command::Show(arguments) => show(arguments).await,
            Command::Cancel(Cancel { connect, run, reason, dry_run, json }) => {
                let targets = Targets::run(run, dry_run, json);
                bulk::run(&connect.client().await?, targets, Deed::Cancel { reason }).await
            }
            Command::Retry(Retry { connect, run, force, dry_run, json }) => {
                let targets = Targets::run(run, dry_run, json);
                bulk::run(&connect.client().await?, targets, Deed::Retry { force }).await
            }
        }
    })
}

async fn list(arguments: List) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let mut listing = Listing::new(&["run", "submitted", "ended", "jobs", "states"]);
    let mut request = v1::ListRunsRequest::default();
    let mut left = arguments.limit;
    while left > 0 {
        request.limit = u32::try_from(left).unwrap_or(u32::MAX);
        let page = client.runs(request.clone()).await?;
        for run in page.runs.iter().take(left) {
            if arguments.json {
                output::print_json(&run_json(run))?;
            } else {
                listing.row(run_row(run));
            }
        }
        left = left.saturating_sub(page.runs.len());
        if page.next_cursor.is_empty() {
            break;
        }
        request.cursor = page.next_cursor;
    }
    if !arguments.json {
        output::print(&listing.render())?;
    }
    Ok(Verdict::Fine)
}

fn run_json(run: &v1::RunSummary) -> Value {
    let states: Map<String, Value> = run
        .states
        .iter()
        .map(|count| (count.state().as_str().to_owned(), json!(count.count)))
        .collect();
    let total: u64 = run.states.iter().map(|count| count.count).sum();
    json!({
        "id": run.id,
        "submitted_at": time_text(run.submitted_at),
        "ended_at": time_text(run.ended_at),
        "states": states,
        "total": total,
        "arrays": run.arrays.iter().map(|array| array.id.as_str()).collect::<Vec<_>>(),
    })
}

fn run_row(run: &v1::RunSummary) -> Vec<Paint> {
    let total: u64 = run.states.iter().map(|count| count.count).sum();
    vec![
        run.id.as_str().into(),
        time_text(run.submitted_at).unwrap_or_default().into(),
        time_text(run.ended_at).unwrap_or_default().into(),
        total.to_string().into(),
        states(&run.states).into(),
    ]
}

async fn show(arguments: Show) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let request = v1::ListRunsRequest { id: arguments.run.clone(), ..Default::default() };
    let found = client.runs(request).await?.runs;
    let Some(run) = found.first() else {
        exit::tell(format_args!(
            "error: run {} is not known; `bellwether runs list` shows those that are [unknown_run]",
            arguments.run
        ));
        return Ok(Verdict::Refused);
    };
    let request = v1::ListJobsRequest {
        no_elements: !arguments.json,
        ..JobFilter::of_run(arguments.run.clone()).request()
    };
    let mut jobs = filter::find(&client, request, JOBS_MAX).await?;
    jobs.reverse();
    if arguments.json {
        for job in jobs {
            output::print_json(&ShownJob::from(job.0))?;
        }
        return Ok(Verdict::Fine);
    }
    output::print(&format!("{}\n{}{}", arguments.run, arrays(run), tree(&jobs)))?;
    Ok(Verdict::Fine)
}

/// Each array as one, with how many of its jobs are in which state.
fn arrays(run: &v1::RunSummary) -> String {
    let line = |array: &v1::ArrayCount| {
        let total: u64 = array.states.iter().map(|count| count.count).sum();
        format!("  {}[{}]  {}\n", array.id, counted(total, "job"), states(&array.states))
    };
    run.arrays.iter().map(line).collect()
}

fn states(counts: &[v1::StateCount]) -> String {
    let state = |count: &v1::StateCount| format!("{} {}", count.count, count.state().as_str());
    counts.iter().map(state).collect::<Vec<_>>().join(", ")
}

/// Every job once, below the last of the jobs of the run that it depends on; the others that it waits
/// for are named beside it.
fn tree(jobs: &[Job]) -> String {
    let ids: BTreeSet<&str> = jobs.iter().map(Job::id).collect();
    let mut below: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        let mut within = dependencies(job).filter(|id| ids.contains(id));
        below.entry(within.next_back().unwrap_or_default()).or_default().push(job);
    }
    let mut text = String::new();
    // A list instead of recursion: a chain may be as long as a run.
    let roots = below.get("").map_or(&[][..], Vec::as_slice);
    let mut open: Vec<(usize, &Job)> = roots.iter().rev().map(|job| (1, *job)).collect();
    while let Some((depth, job)) = open.pop() {
        let parent_and_others: Vec<&str> = dependencies(job).collect();
        let others = match parent_and_others.split_last() {
            Some((_, others)) if !others.is_empty() => {
                format!("  (after {}, too)", others.join(", "))
            }
            _ => String::new(),
        };
        let state = Paint::state(job.state().as_str());
        text.push_str(&format!("{}{}  {state}{others}\n", "  ".repeat(depth), job.id()));
        let children = below.get(job.id()).map_or(&[][..], Vec::as_slice);
        open.extend(children.iter().rev().map(|child| (depth + 1, *child)));
    }
    text
}

fn dependencies(job: &Job) -> impl DoubleEndedIterator<Item = &str> {
    job.0.spec.iter().flat_map(|spec| spec.dependencies.iter().map(String::as_str))
}
