//! `bellwether queue`: the queues in front of the scheduler.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bellwether_brokers::{Finding, Report, Verdict as Answer};
use bellwether_server::ServerConfig;
use bellwether_server::config::Queue;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::exit::Verdict;
use crate::{output, serve};

/// A server that does not answer for so long is not there.
const PATIENCE: Duration = Duration::from_secs(15);

/// The queues in front of the scheduler
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
}

/// Tell whether the configured queues can be used: connection, version and permissions of their
/// servers, and what to change if not. What is missing in a server and can be made is made.
///
/// Exits with 0 if all can be used, with 1 if one can't, and with 3 if the settings can't be read.
#[derive(Debug, Args)]
struct Check {
    /// Settings; see scheduler.yaml. Without it, variables as BELLWETHER_QUEUE_BACKEND count
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only this one; all by default
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let Command::Check(arguments) = arguments.command;
    let queues = queues(arguments.config.as_deref(), arguments.queue.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut reports = Vec::with_capacity(queues.len());
    for queue in queues {
        let report = runtime.block_on(check(&queue));
        reports.push((queue.name, report));
    }
    // Connections that are still being tried have nothing left to say.
    runtime.shutdown_background();
    if arguments.json {
        let shown: Vec<Value> =
            reports.iter().map(|(name, report)| to_json(name, report)).collect();
        output::print_json(&shown)?;
    } else {
        for (name, report) in &reports {
            output::print(&format!("{name}: {report}\n"))?;
        }
    }
    let usable = reports.iter().all(|(_, report)| report.usable());
    Ok(if usable { Verdict::Fine } else { Verdict::CheckFailed })
}

/// Of each queue whether it can be used, and why not.
pub(crate) fn usable(queues: &[Queue]) -> Vec<(String, Result<(), String>)> {
    if queues.is_empty() {
        return Vec::new();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return vec![("all".to_owned(), Err(error.to_string()))],
    };
    let answer = |queue: &Queue| {
        let report = runtime.block_on(check(queue));
        let usable = if report.usable() { Ok(()) } else { Err(report.to_string()) };
        (queue.name.clone(), usable)
    };
    let answers = queues.iter().map(answer).collect();
    runtime.shutdown_background();
    answers
}

fn queues(file: Option<&Path>, name: Option<&str>) -> anyhow::Result<Vec<Queue>> {
    let config = ServerConfig::load(file, serve::variables(), &[])?;
    let known =
        config.queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut queues = config.queues.clone();
    if let Some(name) = name {
        queues.retain(|queue| queue.name == name);
        anyhow::ensure!(
            !queues.is_empty(),
            "there is no queue {name}; the configured ones are: {known}"
        );
    }
    anyhow::ensure!(
        !queues.is_empty(),
        "no queue is configured; set `queue` in the file that --config names, see scheduler.yaml"
    );
    Ok(queues)
}

async fn check(queue: &Queue) -> Report {
    let opened = bellwether_brokers::open(queue.settings.clone());
    let checked = async { Ok(opened?.check().await) };
    let failed = |reason: String, way_out: &str| Report {
        server: queue.settings.backend.name().to_owned(),
        version: None,
        findings: vec![Finding {
            question: "reachable".to_owned(),
            verdict: Answer::Bad { reason, way_out: way_out.to_owned() },
        }],
    };
    match tokio::time::timeout(PATIENCE, checked).await {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => {
            let error: bellwether_brokers::BrokerError = error;
            failed(error.to_string(), "correct the settings of the queue")
        }
        Err(_) => failed(
            format!("it did not answer within {} s", PATIENCE.as_secs()),
            "see whether the server is well and can be reached from here",
        ),
    }
}

fn to_json(name: &str, report: &Report) -> Value {
    let finding = |finding: &Finding| match &finding.verdict {
        Answer::Good(word) => {
            json!({ "question": finding.question, "verdict": "good", "reason": word })
        }
        Answer::Warning(word) => {
            json!({ "question": finding.question, "verdict": "warning", "reason": word })
        }
        Answer::Bad { reason, way_out } => json!({
            "question": finding.question, "verdict": "bad", "reason": reason, "way_out": way_out,
        }),
    };
    json!({
        "queue": name,
        "server": report.server,
        "version": report.version,
        "usable": report.usable(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
