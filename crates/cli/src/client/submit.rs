//! `bellwether submit`: hand in jobs.

use std::path::PathBuf;

use anyhow::Context as _;
use bellwether_sdk::{Client, NewJob, Refusal, v1};
use bellwether_server::config::value;
use bellwether_wire::json::{Job, fault};
use clap::Args;
use serde_json::{Map, Value, json};

use super::submit_file::{self, Handed, Taken};
use super::{Connect, block_on, follow, pair, span};
use crate::exit::{self, Verdict};
use crate::output;

/// Submit jobs. It returns with 0 only once they are durable.
///
/// The job comes from the options, or jobs and runs from a file: one job, many as JSON lines, or a
/// run as YAML or JSON; `-` is standard input. The jobs of a run are named in it, so the same file again
/// is a new run, unless it has an `idempotency_key`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// File of jobs or runs; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "job", required_unless_present = "kind")]
    file: Option<PathBuf>,
    #[command(flatten)]
    job: JobArguments,
    /// A value for a parameter of the file; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "file")]
    set: Vec<(String, String)>,
    /// A job for each item: a range as 1-1000 or 1-1000:10, a list as a,b,c or a file of lines as
    /// @FILE. In the payload and other texts {{item}} is the item and {{index}} its number
    #[arg(long, value_name = "ITEMS", conflicts_with = "file")]
    array: Option<String>,
    /// Follow the jobs to their end and exit with the job's own code
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(id = "job", multiple = true)]
struct JobArguments {
    /// Id of the job; generated if absent
    #[arg(long)]
    id: Option<String>,
    /// Type of the job
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// What the job is about, as JSON
    #[arg(long, value_name = "JSON", value_parser = is_json)]
    payload: Option<String>,
    /// The same from a file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    payload_file: Option<PathBuf>,
    /// A variable of the command's environment, put into `env` of the payload; may be given several
    /// times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    #[command(flatten)]
    common: CommonArguments,
}

/// What `submit` and `run` have in common.
#[derive(Debug, Args)]
pub(super) struct CommonArguments {
    /// How urgent it is
    #[arg(long, value_name = "PRIORITY", value_parser = ["low", "normal", "high", "critical"])]
    priority: Option<String>,
    /// Start only once this job has completed; may be given several times
    #[arg(long, value_name = "ID")]
    after: Vec<String>,
    /// Retries after a failure
    #[arg(long, value_name = "N")]
    retry: Option<u32>,
    /// How long it may run: seconds, or with a unit as 5m
    #[arg(long, value_name = "SPAN", value_parser = span)]
    timeout: Option<std::time::Duration>,
    /// How often it may run
    #[arg(long, value_name = "GUARANTEE", value_parser = ["at_most_once", "at_least_once", "exactly_once"])]
    guarantee: Option<String>,
    /// Any worker with this role
    #[arg(long, value_name = "ROLE", conflicts_with = "receiver")]
    role: Option<String>,
    /// This worker only
    #[arg(long, value_name = "WORKER")]
    receiver: Option<String>,
    /// A capability that the worker must have; may be given several times
    #[arg(long, value_name = "CAPABILITY")]
    capability: Vec<String>,
    /// Millicores that it needs
    #[arg(long, value_name = "MILLICORES")]
    cpu: Option<u32>,
    /// Memory that it needs: bytes, or with a unit as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// A model that must be warm
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// A tag to find it by; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Submitting twice with the same key makes one job
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// What it shares with other jobs, as a tenant or a machine, of which only so many run at a time;
    /// {type}, {sender}, {tags} and {payload.FIELD} stand for what the job says there
    #[arg(long, value_name = "KEY")]
    concurrency_key: Option<String>,
    /// How many jobs of its key may run at a time, as far as this one is concerned
    #[arg(long, value_name = "N", requires = "concurrency_key")]
    concurrency_limit: Option<u32>,
    /// How much of the limit it takes
    #[arg(long, value_name = "N", requires = "concurrency_key")]
    concurrency_weight: Option<u32>,
    /// What to do when its key is at its limit; as in the settings if it is left out
    #[arg(long, value_name = "CHOICE", value_parser = ["queue", "skip", "replace"], requires = "concurrency_key")]
    on_limit: Option<String>,
    /// How long to wait before it may start: seconds, or with a unit as 5m
    #[arg(long, value_name = "SPAN", value_parser = span)]
    delay: Option<std::time::Duration>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let handed = match &arguments.file {
        Some(path) => submit_file::read(path, &arguments.set.iter().cloned().collect())?,
        None => {
            let kind = arguments.job.kind.clone().context("give --type, or a file")?;
            let job = arguments.job.job(kind)?;
            let submission = v1::Submission::from(job);
            match (&arguments.array, &submission.jobs[..]) {
                (Some(items), [job, ..]) => {
                    submit_file::array(job, arguments.job.id.as_deref(), items)?
                }
                (_, jobs) => {
                    jobs.iter().try_for_each(|job| submit_file::check(job, false))?;
                    vec![Handed::single(submission)]
                }
            }
        }
    };
    let waits = arguments.wait;
    let result = block_on(submit(arguments, handed));
    if waits { exit::beside_a_command(result) } else { result }
}

async fn submit(arguments: Arguments, handed: Vec<Handed>) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let results = submit_file::send_all(&client, handed).await?;
    let mut taken = Vec::with_capacity(results.len());
    let mut is_refused = false;
    for result in results {
        print(&result, arguments.json)?;
        match result {
            Ok(accepted) => taken.push(accepted),
            Err(_) => is_refused = true,
        }
    }
    if is_refused {
        return Ok(Verdict::Refused);
    }
    let mut verdict = Verdict::Fine;
    for taken in taken.into_iter().filter(|_| arguments.wait) {
        let of_this = match taken.is_array {
            true => follow::run_to_the_end(&client, &taken.run, taken.jobs).await?,
            false => wait(&client, taken.ids, arguments.json).await?,
        };
        if verdict == Verdict::Fine {
            verdict = of_this;
        }
    }
    Ok(verdict)
}

/// The ids of the jobs; of one that stands for many that of its run.
fn print(result: &Result<Taken, Refusal>, as_json: bool) -> anyhow::Result<()> {
    match result {
        Ok(taken) if as_json && taken.is_array => output::print_json(&json!({
            "run": taken.run,
            "jobs": taken.jobs,
            "known": taken.known,
            "position": taken.position,
        })),
        Ok(taken) if as_json => {
            let mut told = json!({
                "ids": taken.ids,
                "id": taken.ids.first(),
                "known": taken.known,
                "position": taken.position,
            });
            if !taken.run.is_empty() {
                told["run"] = taken.run.as_str().into();
            }
            output::print_json(&told)
        }
        Ok(taken) if taken.is_array => Ok(output::print(&format!("{}\n", taken.run))?),
        Ok(taken) => {
            let text: String = taken.ids.iter().map(|id| format!("{id}\n")).collect();
            Ok(output::print(&text)?)
        }
        Err(refusal) if as_json => output::print_json(&json!({
            "rejection": {
                "code": refusal.code,
                "message": refusal.message,
                "retry_after_ms": refusal.retry_after.map(|after| after.as_millis() as u64),
            }
        })),
        Err(refusal) => {
            eprintln!("error: {refusal}");
            Ok(())
        }
    }
}

/// The first job that did not complete gives the code; one that was skipped that of what it was
/// skipped for.
async fn wait(client: &Client, ids: Vec<String>, as_json: bool) -> anyhow::Result<Verdict> {
    let mut verdict = Verdict::Fine;
    for id in ids {
        let job = follow::to_the_end(client, &id).await?;
        if let Some(trouble) = follow::trouble(&job) {
            eprintln!("error: job {id} {trouble}");
        }
        if as_json {
            output::print_json(&Job::from(job.0.clone()))?;
        }
        if verdict == Verdict::Fine {
            verdict = follow::verdict_or_root_cause(client, &job).await?;
        }
    }
    Ok(verdict)
}

impl JobArguments {
    fn job(&self, kind: String) -> anyhow::Result<NewJob> {
        let payload = match &self.payload_file {
            Some(path) => {
                let text = submit_file::read_text(path)?;
                is_json(&text).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?
            }
            None => self.payload.clone().unwrap_or_default(),
        };
        let payload = with_env(payload, &self.env)?;
        // Without one the scheduler makes one up.
        let id = self.id.clone().unwrap_or_default();
        Ok(self.common.apply(NewJob::new(kind).id(id).payload(payload)))
    }
}

impl CommonArguments {
    pub(super) fn apply(&self, job: NewJob) -> NewJob {
        let mut job = job;
        let wire = job.wire();
        wire.priority = match self.priority.as_deref() {
            Some("low") => v1::Priority::Low,
            Some("high") => v1::Priority::High,
            Some("critical") => v1::Priority::Critical,
            _ => v1::Priority::Normal,
        }
        .into();
        wire.guarantee = match self.guarantee.as_deref() {
            Some("at_most_once") => v1::Guarantee::AtMostOnce,
            Some("exactly_once") => v1::Guarantee::ExactlyOnce,
            _ => v1::Guarantee::AtLeastOnce,
        }
        .into();
        wire.dependencies.clone_from(&self.after);
        wire.tags.clone_from(&self.tag);
        wire.retry = self.retry;
        wire.idempotency_key = self.idempotency_key.clone().unwrap_or_default();
        self.set_key(wire);
        let requirements = wire.requirements.get_or_insert_default();
        requirements.role = self.role.clone().unwrap_or_default();
        requirements.receiver = self.receiver.clone().unwrap_or_default();
        requirements.model = self.model.clone().unwrap_or_default();
        requirements.cpu = self.cpu.unwrap_or(0);
        requirements.memory = self.memory.unwrap_or(0);
        requirements.capabilities.clone_from(&self.capability);
        if let Some(timeout) = self.timeout {
            job = job.timeout(timeout);
        }
        match self.delay {
            Some(delay) => job.delay(delay),
            None => job,
        }
    }

    /// A key of which no more is said has a field of its own.
    fn set_key(&self, job: &mut v1::JobSpec) {
        let Some(key) = self.concurrency_key.clone() else { return };
        let on_limit = match self.on_limit.as_deref() {
            Some("queue") => v1::OnLimit::Queue,
            Some("skip") => v1::OnLimit::Skip,
            Some("replace") => v1::OnLimit::Replace,
            _ => v1::OnLimit::Unspecified,
        };
        job.concurrency.push(v1::ConcurrencyKey {
            key,
            weight: self.concurrency_weight.unwrap_or(0),
            limit: self.concurrency_limit.unwrap_or(0),
            on_limit: on_limit.into(),
        });
    }

    pub(super) fn timeout_or(mut self, default: std::time::Duration) -> CommonArguments {
        self.timeout = self.timeout.or(Some(default));
        self
    }

    pub(super) fn retry_or(mut self, default: u32) -> CommonArguments {
        self.retry = self.retry.or(Some(default));
        self
    }
}

/// What is given beside the payload wins over what is in it.
fn with_env(payload: String, env: &[(String, String)]) -> anyhow::Result<String> {
    if env.is_empty() {
        return Ok(payload);
    }
    let wrong = "--env belongs to a payload that is an object, as {\"argv\":[\"printenv\"]}";
    let mut object: Map<String, Value> = serde_json::from_str(&payload).context(wrong)?;
    let known = object.entry("env").or_insert_with(|| Value::Object(Map::new()));
    let known = known.as_object_mut().context("`env` of the payload is no object")?;
    known.extend(env.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
    Ok(serde_json::to_string(&object)?)
}

fn is_json(text: &str) -> Result<String, String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(|_| text.to_owned())
        .map_err(|error| format!("{}; a payload is JSON, a text in it needs quotes", fault(&error)))
}

fn bytes(text: &str) -> Result<u64, String> {
    value::bytes(text).map_err(|wanted| format!("it must be {wanted}"))
}
