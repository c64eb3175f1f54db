//! Files of jobs, and handing many in.

use bellwether_wire::words::counted;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use bellwether_core::model::{JobId, RunId};
use bellwether_sdk::client::Accepted;
use bellwether_sdk::{Client, Refusal, automatic_key, new_id, v1};
use bellwether_wire::job::{submission_to_wire, taken_job_from_wire};
use bellwether_wire::json::template::Texts;
use bellwether_wire::json::{Context, Plan, job_spec_to_json};

use crate::progress::Progress;
use crate::worker::payload::{self, Payload};

/// Submissions in one message; several messages are under way at a time.
const BATCH: usize = 1_000;
/// Steps of a large run in one message.
const STEPS_AT_ONCE: usize = 4;

/// `-` is standard input.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("failed to read standard input")?;
    } else {
        let read = std::fs::read_to_string(path);
        if read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::InvalidData) {
            anyhow::bail!("{} is not text; a file of jobs is YAML or JSON", path.display());
        }
        text = read.with_context(|| format!("failed to read {}", path.display()))?;
    }
    Ok(text)
}

/// What is handed in together.
#[derive(Debug)]
pub(super) struct Handed {
    /// Empty if it is a job by itself.
    pub(super) run: String,
    /// Some of its jobs stand for many.
    pub(super) is_array: bool,
    pub(super) jobs: usize,
    what: What,
}

#[derive(Debug)]
enum What {
    Whole(v1::Submission),
    /// Too much for one message.
    Large(Box<Plan>),
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) run: String,
    pub(super) is_array: bool,
    pub(super) jobs: usize,
    /// Empty if they are too many to be told.
    pub(super) ids: Vec<String>,
    pub(super) known: bool,
    pub(super) position: u64,
}

impl Handed {
    pub(super) fn single(submission: v1::Submission) -> Handed {
        let (run, jobs) = (submission.run_id.clone(), submission.jobs.len());
        Handed { run, is_array: false, jobs, what: What::Whole(submission) }
    }

    fn of(plan: Plan, yaml: bool) -> anyhow::Result<Handed> {
        let run = plan.run().map(RunId::to_string).unwrap_or_default();
        let (is_array, jobs) = (plan.array().is_some(), plan.jobs());
        if plan.is_large() {
            return Ok(Handed { run, is_array, jobs, what: What::Large(Box::new(plan)) });
        }
        let draft = plan.whole()?;
        let is_unnamed = draft.run.is_none() && draft.jobs.iter().any(|job| job.id.is_none());
        let mut submission = submission_to_wire(&draft.complete(&mut generated));
        for job in &mut submission.jobs {
            check(job, yaml).with_context(|| format!("job {}", job.id))?;
            // The scheduler's own ids need not be remembered.
            if is_unnamed {
                job.id.clear();
            }
        }
        Ok(Handed { run, is_array, jobs, what: What::Whole(submission) })
    }
}

fn generated() -> JobId {
    JobId::new(&new_id()).expect("a generated id is a name")
}

pub(super) fn read(path: &Path, set: &Texts) -> anyhow::Result<Vec<Handed>> {
    let text = read_text(path)?;
    plans(&text, set).with_context(|| format!("failed to read jobs from {}", path.display()))
}

/// A job for each of these items.
pub(super) fn array(
    job: &v1::JobSpec,
    name: Option<&str>,
    items: &str,
) -> anyhow::Result<Vec<Handed>> {
    let spec = taken_job_from_wire(&v1::JobSpec { id: "array".to_owned(), ..job.clone() })?;
    let mut written = job_spec_to_json(&spec);
    written["id"] = name.into();
    written["array"] = items.into();
    // What was not said is for the scheduler to say.
    if let Some(fields) = written.as_object_mut() {
        for (name, is_said) in [("timeout", job.timeout.is_some()), ("retry", job.retry.is_some())]
        {
            if !is_said {
                fields.remove(name);
            }
        }
    }
    plans(&written.to_string(), &Texts::new())
}

fn plans(text: &str, set: &Texts) -> anyhow::Result<Vec<Handed>> {
    let mut files = |path: &str| std::fs::read_to_string(path).map_err(|why| why.to_string());
    let mut context = Context { generate: &mut generated, set, files: &mut files };
    let plans = bellwether_wire::json::plans(text, &mut context)?;
    let yaml = !bellwether_wire::json::is_json(text);
    plans.into_iter().map(|plan| Handed::of(plan, yaml)).collect()
}

/// Whether a command could be run as it is: better said now than by a worker.
pub(super) fn check(job: &v1::JobSpec, yaml: bool) -> anyhow::Result<()> {
    if !payload::is_exec(job.kind()) {
        return Ok(());
    }
    let payload = Payload::parse(&job.payload)?;
    if yaml { Ok(payload.quoted()?) } else { Ok(()) }
}

/// All of it, in order. A large run goes by itself, step by step.
pub(super) async fn send_all(
    client: &Client,
    handed: Vec<Handed>,
) -> anyhow::Result<Vec<Result<Taken, Refusal>>> {
    let mut results = Vec::with_capacity(handed.len());
    let mut small: Vec<(Handed, v1::Submission)> = Vec::new();
    for mut handed in handed {
        match std::mem::replace(&mut handed.what, What::Whole(v1::Submission::default())) {
            What::Whole(submission) => small.push((handed, submission)),
            What::Large(plan) => {
                results.extend(send_small(client, std::mem::take(&mut small)).await?);
                results.push(send_steps(client, handed, *plan).await?);
            }
        }
    }
    results.extend(send_small(client, small).await?);
    Ok(results)
}

async fn send_small(
    client: &Client,
    small: Vec<(Handed, v1::Submission)>,
) -> anyhow::Result<Vec<Result<Taken, Refusal>>> {
    let (handed, submissions): (Vec<_>, Vec<_>) = small.into_iter().unzip();
    let results = send(client, submissions).await?;
    let taken = |(handed, result): (Handed, Result<Accepted, Refusal>)| {
        result.map(|accepted| Taken {
            run: handed.run,
            is_array: handed.is_array,
            jobs: handed.jobs,
            ids: accepted.ids,
            known: accepted.known,
            position: accepted.position,
        })
    };
    Ok(handed.into_iter().zip(results).map(taken).collect())
}

/// Each step is known by its keys, so what a broken connection or a restart leaves open is sent again.
async fn send_steps(
    client: &Client,
    handed: Handed,
    plan: Plan,
) -> anyhow::Result<Result<Taken, Refusal>> {
    let Handed { run, is_array, jobs, .. } = handed;
    eprintln!("run {run}: {}", counted(jobs as u64, "job"));
    let mut taken = Taken { run, is_array, jobs, ids: Vec::new(), known: true, position: 0 };
    let mut steps = plan.steps()?.peekable();
    let mut sent = 0;
    let progress = Progress::new(jobs as u64, "jobs");
    while steps.peek().is_some() {
        let mut batch = Vec::with_capacity(STEPS_AT_ONCE);
        for step in steps.by_ref().take(STEPS_AT_ONCE) {
            let step = submission_to_wire(&step?.complete(&mut generated));
            for job in &step.jobs {
                check(job, false).with_context(|| format!("job {}", job.id))?;
            }
            sent += step.jobs.len();
            batch.push(step);
        }
        for result in until_taken(client, batch).await? {
            match result {
                Ok(accepted) => {
                    taken.known &= accepted.known;
                    taken.position = taken.position.max(accepted.position);
                }
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        progress.reached(sent as u64);
    }
    Ok(Ok(taken))
}

/// A full queue is waited for, however long that takes: the rest belongs to what is there.
async fn until_taken(
    client: &Client,
    batch: Vec<v1::Submission>,
) -> anyhow::Result<Vec<Result<Accepted, Refusal>>> {
    loop {
        let results = patiently(client, batch.clone()).await?;
        if results.iter().all(|result| retry_after(result).is_none()) {
            return Ok(results);
        }
    }
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
