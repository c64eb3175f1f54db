//! `bellwether job ID`: everything about one job.

use std::collections::BTreeMap;

use bellwether_sdk::{ClientError, v1};
use bellwether_wire::json::Job;
use bellwether_wire::words::span;
use clap::Args;

use super::time_text::time_text;
use super::{Connect, block_on, decision_in_words};
use crate::exit::Verdict;
use crate::output;
use crate::paint::Paint;

/// Show one job: its state, its attempts, its result, and why it went where it went.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Id of the job
    id: String,
    /// Wait until the answer reflects this journal position
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    position: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(show(arguments))
}

async fn show(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let job = client.job(&arguments.id, arguments.position).await?;
    if arguments.json {
        output::print_json(&Job::from(job.0))?;
        return Ok(Verdict::Fine);
    }
    let workers = match client.workers(true).await {
        // Whoever may look at jobs may not be let near workers; their numbers have to do then.
        Err(ClientError::Denied(_)) => Vec::new(),
        workers => workers?,
    };
    let names: BTreeMap<u32, String> = workers
        .into_iter()
        .map(|worker| (worker.worker, worker.spec.unwrap_or_default().id))
        .collect();
    output::print(&readable(&job.0, &names))?;
    Ok(Verdict::Fine)
}

fn readable(job: &v1::Job, workers: &BTreeMap<u32, String>) -> String {
    let spec = job.spec.clone().unwrap_or_default();
    let kind = spec.kind();
    let state = Paint::state(job.state().as_str());
    let mut text = format!("{}  {kind}  {state}\n", spec.id);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<12} {value}\n"));
        }
    };
    line("run", &job.run_id);
    line("waits for", &spec.dependencies.join(", "));
    line("submitted", &time_text(job.submitted_at).unwrap_or_default());
    line("submitted by", &job.submitted_by);
    line("changed by", &job.changed_by);
    line("started", &time_text(job.started_at).unwrap_or_default());
    line("ended", &time_text(job.ended_at).unwrap_or_default());
    line("because", &job.explanation);
    if job.progress_permille > 0 {
        let percent = f64::from(job.progress_permille) / 10.0;
        line("progress", &format!("{percent:.0}% {}", job.progress_note));
    }
    line("result", &String::from_utf8_lossy(&job.result));
    for attempt in &job.attempts {
        line("attempt", &attempt_line(attempt));
        if let Some(decision) = &attempt.decision {
            let name = |no| workers.get(&no).cloned().unwrap_or_else(|| format!("worker {no}"));
            line("", &decision_in_words(&attempt.worker, decision, name));
        }
    }
    text
}

fn attempt_line(attempt: &v1::AttemptView) -> String {
    let mut text =
        format!("{} on {}, token {}", attempt.state().as_str(), attempt.worker, attempt.token);
    if attempt.started_at > 0 && attempt.ended_at >= attempt.started_at {
        text.push_str(&format!(", ran {}", span(attempt.ended_at - attempt.started_at)));
    }
    if attempt.hedge {
        text.push_str(", a hedge");
    }
    if attempt.cause != 0 {
        text.push_str(&format!(", {}: {}", attempt.cause().as_str(), attempt.error));
    }
    text
}
