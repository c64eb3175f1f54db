//! `bellwether run -- cmd args`: run a command on a worker and follow it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use bellwether_sdk::{NewJob, v1};
use bellwether_wire::json::Job;
use clap::Args;

use super::submit::CommonArguments;
use super::{Connect, block_on, follow};
use crate::exit::Verdict;
use crate::output;
use crate::worker::exec;

/// As good as none.
const UNTIMED: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Run a command on some worker, print what it printed, and exit with its code.
///
/// It has no limit of time unless --timeout gives one. An interrupt (Ctrl-C) cancels it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Id of the job; generated if absent
    #[arg(long)]
    id: Option<String>,
    /// What kind of command this is, so that its duration is predicted by its like: with `make` the
    /// job's type is `exec/make`
    #[arg(long = "type", value_name = "NAME")]
    kind: Option<String>,
    /// A variable of its environment; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::pair)]
    env: Vec<(String, String)>,
    /// The folder that it runs in, on the worker
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    #[command(flatten)]
    common: CommonArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(submit_and_follow(arguments))
}

async fn submit_and_follow(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let payload = exec::Payload {
        argv: arguments.argv,
        env: BTreeMap::from_iter(arguments.env),
        cwd: arguments.cwd,
    };
    let kind = arguments.kind.map(|kind| format!("{}/{kind}", exec::TYPE));
    let kind = kind.unwrap_or_else(|| exec::TYPE.to_owned());
    let mut job = NewJob::new(kind).payload(serde_json::to_vec(&payload)?);
    if let Some(id) = arguments.id {
        job = job.id(id);
    }
    // Whoever watches a command decides about a second try, and when it takes too long.
    let job = arguments.common.retry_or(0).timeout_or(UNTIMED).apply(job);
    let accepted = client.submit(job).await?;
    let job = follow::to_the_end_or_cancelled(&client, accepted.id()).await?;

    if arguments.json {
        output::print_json(&Job::from(job.0.clone()))?;
    } else if job.state() == v1::JobState::Completed {
        let result: exec::Output = serde_json::from_slice(job.result())?;
        output::print(&result.stdout)?;
        std::io::stderr().write_all(result.stderr.as_bytes())?;
        for (what, bytes) in [("output", result.stdout_cut), ("error", result.stderr_cut)] {
            if bytes > 0 {
                eprintln!("warning: the first {bytes} bytes of standard {what} were cut");
            }
        }
    } else if let Some(trouble) = follow::trouble(&job) {
        eprintln!("error: job {} {trouble}", job.id());
    }
    Ok(follow::verdict(&job))
}
