//! A worker that is a process, so that it can be killed and stopped. It does what each job's script
//! says, and tells on standard output when it starts and ends one; what it has told is not lost with
//! it.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Context, Outcome, Worker};
use serde::{Deserialize, Serialize};

use super::site::BACKOFF;

pub(super) const TYPE: &str = "scripted";

/// What a job does.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Script {
    pub(super) work_ms: u64,
    /// Attempts that fail before one succeeds.
    #[serde(default)]
    pub(super) fails: u32,
}

/// A line of the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) what: What,
    pub(super) job: String,
    pub(super) token: u64,
    /// Of the clock that all processes of a machine share and nobody sets.
    pub(super) at_nanos: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Started,
    Failed,
    Succeeded,
}

/// Works until its input ends, which it does with the process that started it.
///
/// # Errors
/// When the scheduler does not take it as a worker.
pub async fn work(server: &str, id: &str, slots: u32) -> anyhow::Result<()> {
    let builder = Worker::builder(server).id(id).slots(slots).backoff(BACKOFF);
    let mut worker = builder.job(TYPE, run).start()?;
    // Nothing is ever written there.
    let input = tokio::task::spawn_blocking(|| io::stdin().read(&mut [0; 64]));
    tokio::select! {
        ended = worker.ended() => Ok(ended?),
        read = input => read?.map(drop).context("failed to read standard input"),
    }
}

async fn run(context: Context) -> Outcome {
    let script: Script = match serde_json::from_slice(context.payload()) {
        Ok(script) => script,
        Err(error) => return Outcome::cancel(error),
    };
    tell(What::Started, &context);
    context.log(printed(context.id(), context.token()));
    context.progress(500, "half way");
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(script.work_ms)) => {}
        () = context.cancelled() => return Outcome::cancel("told to stop"),
    }
    if context.attempt() <= script.fails {
        tell(What::Failed, &context);
        return Outcome::retry("as its script says");
    }
    tell(What::Succeeded, &context);
    Outcome::done(result(context.id(), context.token()))
}

/// Another attempt has another result, so that two can't be taken for one.
pub(super) fn result(job: &str, token: u64) -> String {
    format!("{job} {token}")
}

/// What an attempt prints.
pub(super) fn printed(job: &str, token: u64) -> String {
    format!("{job} is run as {token}")
}

fn tell(what: What, context: &Context) {
    let at_nanos = now_nanos();
    let told = Told { what, job: context.id().to_owned(), token: context.token(), at_nanos };
    let line = serde_json::to_string(&told).expect("plain values are JSON");
    if writeln!(io::stdout().lock(), "{line}").is_err() {
        // Nobody is there to keep the account.
        std::process::exit(1);
    }
}

pub(super) fn now_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
