//! `bellwether run -- cmd args`: run a command on a worker and follow it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use bellwether_sdk::{Client, NewJob, v1};
use bellwether_wire::json::Job;
use clap::Args;

use super::logs::Printer;
use super::submit::CommonArguments;
use super::{Connect, block_on, follow, standard_input};
use crate::exit::Verdict;
use crate::output;
use crate::worker::exec;
use crate::worker::payload::{self, Payload, Setting, Word};

/// As good as none.
const UNTIMED: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Run a command on some worker, print what it prints as it comes, and exit with its code.
///
/// It has no limit of time unless --timeout gives one. An interrupt (Ctrl-C) cancels it. It reads
/// nothing unless --stdin is given.
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
    /// Let it read what is given here on standard input: text, to its end, up to 512 KiB
    #[arg(long)]
    stdin: bool,
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
    let stdin = if arguments.stdin { Some(standard_input::read()?) } else { None };
    if stdin.is_none() && standard_input::is_waiting() {
        eprintln!("warning: the command does not get standard input; --stdin passes it on");
    }
    let env = arguments.env.into_iter();
    let env = env.map(|(name, value)| (name, Setting::Text(Word::from(value))));
    let payload = Payload {
        argv: arguments.argv.into_iter().map(Word::from).collect(),
        env: BTreeMap::from_iter(env),
        cwd: arguments.cwd,
        stdin,
    };
    let kind = arguments.kind.map(|kind| format!("{}/{kind}", payload::TYPE));
    let kind = kind.unwrap_or_else(|| payload::TYPE.to_owned());
    let mut job = NewJob::new(kind).payload(serde_json::to_vec(&payload)?);
    if let Some(id) = arguments.id {
        job = job.id(id);
    }
    // Whoever watches a command decides about a second try, and when it takes too long.
    let job = arguments.common.retry_or(0).timeout_or(UNTIMED).apply(job);
    let accepted = client.submit(job).await?;
    let printing = (!arguments.json)
        .then(|| tokio::spawn(print_output(client.clone(), accepted.id().to_owned())));
    let ended = follow::to_the_end_or_cancelled(&client, accepted.id()).await;
    let printed = match (&ended, printing) {
        (Ok(_), Some(printing)) => printing.await?,
        (Err(_), Some(printing)) => {
            printing.abort();
            Ok(false)
        }
        (_, None) => Ok(false),
    };
    let job = ended?;

    if arguments.json {
        output::print_json(&Job::from(job.0.clone()))?;
    } else if job.state() != v1::JobState::Completed {
        if let Some(trouble) = follow::trouble(&job) {
            eprintln!("error: job {} {trouble}", job.id());
        }
    } else if !printed? {
        // The scheduler keeps no output: the end of it is in the result.
        let result: exec::Output = serde_json::from_slice(job.result())?;
        output::print(&result.stdout)?;
        std::io::stderr().write_all(result.stderr.as_bytes())?;
        for (what, bytes) in [("output", result.stdout_cut), ("error", result.stderr_cut)] {
            if bytes > 0 {
                eprintln!("warning: the first {bytes} bytes of standard {what} were cut");
            }
        }
    }
    Ok(follow::verdict(&job))
}

/// Prints what the job prints until it has ended. Says whether there was anything.
async fn print_output(client: Client, id: String) -> anyhow::Result<bool> {
    let mut output = client.logs(v1::WatchLogsRequest { id, follow: true, ..Default::default() });
    let mut printer = Printer::default();
    while let Some(response) = output.next().await? {
        printer.print(response.pieces)?;
    }
    Ok(printer.printed)
}
