//! One thing done to many jobs: to those that are named, or to all that fit a filter.

use bellwether_wire::words::counted;
use std::io::IsTerminal as _;

use anyhow::Context as _;
use bellwether_core::model::JobStatus;
use bellwether_sdk::{Client, ClientError, Refusal};
use bellwether_wire::Mirror as _;
use clap::Args;
use serde_json::{Value, json};

use super::filter::{self, JobFilter};
use crate::exit::{Misused, Verdict};
use crate::output;

/// Jobs that are asked for in one call.
const STEP: usize = 500;
/// Jobs that one command may be about.
const JOBS_MAX: usize = 10_000_000;
/// Refused until what the job depends on is retried.
const DEPENDENCY_FAILED: &str = "dependency_failed";
/// Behind the name of an array: all of its jobs.
const ALL_ELEMENTS: &str = "[*]";
/// Ids that a dry run shows.
const SHOWN: usize = 20;

/// The jobs, by name or by what they have in common.
#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// Ids of the jobs, or an array as `RUN/NAME[*]`; or name what they have in common
    ids: Vec<String>,
    #[command(flatten)]
    filter: JobFilter,
    /// Only tell which jobs it would be about
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is done to them.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Cancel { reason: String },
    Retry { force: bool },
}

impl Targets {
    pub(super) fn run(run: String, dry_run: bool, json: bool) -> Targets {
        Targets { ids: Vec::new(), filter: JobFilter::of_run(run), dry_run, json }
    }
}

impl Deed {
    /// As in "3 jobs cancelled".
    fn done(&self) -> &'static str {
        match self {
            Deed::Cancel { .. } => "cancelled",
            Deed::Retry { .. } => "retried",
        }
    }

    /// Jobs that it is done to unless states are named. Skipped ones come back with those that they
    /// were skipped for.
    fn concerns(&self, status: JobStatus) -> bool {
        match self {
            Deed::Cancel { .. } => !status.has_ended(),
            Deed::Retry { .. } => {
                matches!(status, JobStatus::Failed | JobStatus::Cancelled | JobStatus::DeadLettered)
            }
        }
    }

    async fn ask(
        &self,
        client: &Client,
        ids: Vec<String>,
    ) -> Result<Vec<(String, Refusal)>, ClientError> {
        match self {
            Deed::Cancel { reason } => client.cancel(ids, reason).await,
            Deed::Retry { force } => client.retry(ids, *force).await,
        }
    }
}

pub(super) async fn run(client: &Client, targets: Targets, deed: Deed) -> anyhow::Result<Verdict> {
    let by_name = !targets.ids.is_empty();
    if by_name != targets.filter.is_empty() {
        let way_out = "name the jobs, or what they have in common, as --type or --run; not both";
        return Err(Misused(way_out.to_owned()).into());
    }
    let array = targets.ids.iter().find_map(|id| id.strip_suffix(ALL_ELEMENTS));
    let (ids, by_name) = match array {
        Some(array) => {
            anyhow::ensure!(targets.ids.len() == 1, "name one array, and nothing else");
            let filter = JobFilter::of_ids(format!("{array}["));
            (found(client, &filter, &deed).await?, false)
        }
        None if by_name => (targets.ids, true),
        None => (found(client, &targets.filter, &deed).await?, false),
    };
    if targets.dry_run {
        return would(&ids, &deed, targets.json);
    }
    let refused = to_all(client, &ids, &deed).await?;
    report(&deed, &ids, &refused, by_name, targets.json)
}

/// Those that were refused because a dependency has not been dealt with yet are asked for again, as long
/// as that gets any further.
async fn to_all(
    client: &Client,
    ids: &[String],
    deed: &Deed,
) -> anyhow::Result<Vec<(String, Refusal)>> {
    let mut final_refusals = Vec::new();
    let mut open = ids.to_vec();
    loop {
        let mut early = Vec::new();
        let mut asked = 0;
        for step in open.chunks(STEP) {
            let answer = deed.ask(client, step.to_vec()).await;
            let refused = answer.with_context(|| format!("{asked} of {} jobs done", ids.len()))?;
            let (wait, never): (Vec<_>, Vec<_>) =
                refused.into_iter().partition(|(_, why)| why.code == DEPENDENCY_FAILED);
            early.extend(wait);
            final_refusals.extend(never);
            asked += step.len();
            progress(asked, open.len());
        }
        if early.is_empty() || early.len() == open.len() {
            final_refusals.extend(early);
            return Ok(final_refusals);
        }
        open = early.into_iter().map(|(id, _)| id).collect();
    }
}

/// Oldest first, so that a job is dealt with before those that depend on it.
async fn found(client: &Client, filter: &JobFilter, deed: &Deed) -> anyhow::Result<Vec<String>> {
    let mut request = filter.request();
    if request.states.is_empty() {
        let concerned = JobStatus::ALL.into_iter().filter(|status| deed.concerns(*status));
        request.states = concerned.map(JobStatus::to_wire).collect();
    }
    let mut ids = filter::find_ids(client, request, JOBS_MAX).await?;
    ids.reverse();
    Ok(ids)
}

fn would(ids: &[String], deed: &Deed, as_json: bool) -> anyhow::Result<Verdict> {
    if as_json {
        output::print_json(&json!({ "dry_run": true, "jobs": ids }))?;
        return Ok(Verdict::Fine);
    }
    let mut text = format!("{} would be {}\n", jobs(ids.len()), deed.done());
    for id in ids.iter().take(SHOWN) {
        text.push_str(&format!("  {id}\n"));
    }
    if ids.len() > SHOWN {
        text.push_str(&format!("  and {} more\n", ids.len() - SHOWN));
    }
    output::print(&text)?;
    Ok(Verdict::Fine)
}

/// For whoever watches: a pipe is not told.
fn progress(done: usize, total: usize) {
    if total > STEP && std::io::stderr().is_terminal() {
        let end = if done == total { "\n" } else { "" };
        eprint!("\r\x1b[K{done} of {total}{end}");
    }
}

/// Says of each job that was named what came of it, and of many how many there were.
fn report(
    deed: &Deed,
    ids: &[String],
    refused: &[(String, Refusal)],
    by_name: bool,
    as_json: bool,
) -> anyhow::Result<Verdict> {
    let done = deed.done();
    let is_refused = |id: &&String| refused.iter().any(|(other, _)| other == *id);
    if as_json {
        let fine: Vec<&String> = ids.iter().filter(|id| !is_refused(id)).collect();
        let refused: Vec<Value> = refused
            .iter()
            .map(|(id, why)| json!({ "id": id, "code": why.code, "message": why.message }))
            .collect();
        output::print_json(&json!({ done: fine, "refused": refused }))?;
    } else {
        let mut text = String::new();
        if by_name {
            for id in ids.iter().filter(|id| !is_refused(id)) {
                text.push_str(&format!("{id} {done}\n"));
            }
        } else {
            text = format!("{} {done}\n", jobs(ids.len() - refused.len()));
        }
        output::print(&text)?;
        for (_, refusal) in refused.iter().take(SHOWN) {
            eprintln!("error: {refusal}");
        }
        if refused.len() > SHOWN {
            eprintln!("error: and {} more were refused", refused.len() - SHOWN);
        }
    }
    Ok(if refused.is_empty() { Verdict::Fine } else { Verdict::Refused })
}

fn jobs(count: usize) -> String {
    counted(count as u64, "job")
}
