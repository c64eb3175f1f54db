//! Files of jobs, and handing many in.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use bellwether_core::model::Name;
use bellwether_sdk::client::Accepted;
use bellwether_sdk::{Client, Refusal, automatic_key, new_id, v1};
use bellwether_wire::job::submission_to_wire;
use bellwether_wire::json::SubmissionDraft;

use crate::worker::payload::{self, Payload};

/// Submissions in one message; several messages are under way at a time.
const BATCH: usize = 1_000;

/// `-` is standard input.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("failed to read standard input")?;
    } else {
        text = std::fs::read_to_string(path)
            .with_context(|| format!("failed to read {}", path.display()))?;
    }
    Ok(text)
}

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<v1::Submission>> {
    let text = read_text(path)?;
    let mut generated = BTreeSet::new();
    let mut generate = || {
        let id = new_id();
        generated.insert(id.clone());
        Name::new(&id).expect("a generated id is a name")
    };
    let drafts = bellwether_wire::json::submissions(&text, &mut generate)
        .with_context(|| format!("failed to read jobs from {}", path.display()))?;
    let complete = |draft: SubmissionDraft| submission_to_wire(&draft.complete(&mut generate));
    let mut submissions: Vec<v1::Submission> = drafts.into_iter().map(complete).collect();
    let yaml = !text.trim_start().starts_with(['{', '[']);
    for job in submissions.iter().flat_map(|submission| &submission.jobs) {
        check(job, yaml).with_context(|| format!("job {}", job.id))?;
    }
    for submission in &mut submissions {
        let jobs = submission.jobs.iter();
        let named: BTreeSet<String> = jobs.flat_map(|job| job.dependencies.clone()).collect();
        // The scheduler's own ids need not be remembered; those that others name must be known now.
        let unnamed =
            |job: &&mut v1::JobSpec| generated.contains(&job.id) && !named.contains(&job.id);
        submission.jobs.iter_mut().filter(unnamed).for_each(|job| job.id.clear());
    }
    Ok(submissions)
}

/// Whether a command could be run as it is: better said now than by a worker.
pub(super) fn check(job: &v1::JobSpec, yaml: bool) -> anyhow::Result<()> {
    if !payload::is_exec(job.kind()) {
        return Ok(());
    }
    let payload = Payload::parse(&job.payload)?;
    if yaml { Ok(payload.quoted()?) } else { Ok(()) }
}

/// Everything gets an idempotency key first, so that it may be sent again.
pub(super) async fn send(
    client: &Client,
    mut submissions: Vec<v1::Submission>,
) -> anyhow::Result<Vec<Result<Accepted, Refusal>>> {
    for job in submissions.iter_mut().flat_map(|submission| &mut submission.jobs) {
        if job.idempotency_key.is_empty() {
            job.idempotency_key = automatic_key();
        }
    }
    let mut results = Vec::with_capacity(submissions.len());
    let mut rest = submissions.into_iter().peekable();
    while rest.peek().is_some() {
        let batch: Vec<v1::Submission> = rest.by_ref().take(BATCH).collect();
        results.extend(patiently(client, batch).await?);
    }
    Ok(results)
}

/// A full queue is waited for; other refusals are final.
async fn patiently(
    client: &Client,
    batch: Vec<v1::Submission>,
) -> anyhow::Result<Vec<Result<Accepted, Refusal>>> {
    const TRIES_MAX: u32 = 10;
    let mut results = client.submit_batch(batch.clone()).await?;
    for _ in 1..TRIES_MAX {
        let again: Vec<usize> = results
            .iter()
            .enumerate()
            .filter(|(_, result)| retry_after(result).is_some())
            .map(|(index, _)| index)
            .collect();
        let Some(pause) = results.iter().filter_map(retry_after).max() else { break };
        tokio::time::sleep(pause).await;
        let retried = again.iter().map(|&index| batch[index].clone()).collect();
        for (index, result) in again.iter().zip(client.submit_batch(retried).await?) {
            results[*index] = result;
        }
    }
    Ok(results)
}

fn retry_after(result: &Result<Accepted, Refusal>) -> Option<std::time::Duration> {
    result.as_ref().err().and_then(|refusal| refusal.retry_after)
}
