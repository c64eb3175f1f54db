//! `bellwether bench sinks`: what it costs to be looked at.

mod clickhouse;
mod collector;
mod onlookers;
mod processor;
mod report;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_sdk::Client;
use clap::Args;
use tokio::runtime::{Handle, Runtime};

use super::server::child::Scheduler;
use super::server::fleet::Fleet;
use super::server::load::{Load, Shape};
use super::server::submitter;
use crate::exit::Verdict;
use crate::output;
use clickhouse::ClickHouse;
use collector::Collector;
use onlookers::Onlookers;
use processor::Processor;
use report::{Report, Round};

/// Jobs a second end to end with everything switched on that looks at the scheduler, and with
/// nothing: metrics scraped every second, followers of all events of which one takes nothing,
/// ClickHouse, and a collector of traces. Rounds of both alternate.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// No-op jobs in each run
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    jobs: u64,
    /// Runs of each kind
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Workers, all in this process
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    workers: u32,
    /// Slots of each worker
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: u32,
    /// ClickHouse's HTTP interface; without it one is started, in memory and only when nothing else
    /// runs, because it would not share the scheduler's machine
    #[arg(long, value_name = "URL")]
    clickhouse: Option<String>,
    /// Followers of all events, besides the one that takes nothing
    #[arg(long, default_value_t = 1)]
    followers: u32,
    /// Folder for data, removed afterwards; the current folder by default
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let runtime = crate::runtime::start()?;
    let report = runtime.block_on(measure(&arguments))?;
    runtime.shutdown_background();
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&report.readable())?;
    }
    Ok(Verdict::Fine)
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Report> {
    let parent = arguments.data_dir.clone().unwrap_or_else(|| PathBuf::from("."));
    std::fs::create_dir_all(&parent)?;
    let folder = tempfile::Builder::new()
        .prefix(".bellwether-bench-")
        .tempdir_in(&parent)
        .with_context(|| format!("failed to make a folder in {}", parent.display()))?;
    let clickhouse = match &arguments.clickhouse {
        Some(url) => ClickHouse::Running(url.clone()),
        None => ClickHouse::start(folder.path()).await?,
    };
    // Those who look on would not share the machine, so here they go last.
    let elsewhere = elsewhere()?;
    let collector = elsewhere.spawn(Collector::start()).await??;
    let mut rounds = Vec::new();
    for number in 0..2 * arguments.rounds {
        // off on, on off, off on: what changes with time hits both alike.
        let on = (number / 2 + number) % 2 == 1;
        let data = folder.path().join(format!("data-{number}"));
        let settings = if on { watched(&clickhouse, &collector) } else { unwatched() };
        let looking = on.then(|| elsewhere.handle());
        rounds.push(one_run(arguments, &data, &settings, looking).await?);
        std::fs::remove_dir_all(&data)?;
    }
    elsewhere.shutdown_background();
    Ok(Report::new(arguments.jobs, clickhouse.name(), collector.spans(), rounds))
}

fn unwatched() -> Vec<(&'static str, String)> {
    vec![("BELLWETHER_TELEMETRY", "false".to_owned())]
}

fn watched(clickhouse: &ClickHouse, collector: &Collector) -> Vec<(&'static str, String)> {
    vec![
        ("BELLWETHER_TELEMETRY", "true".to_owned()),
        ("BELLWETHER_CLICKHOUSE_URL", clickhouse.url().to_owned()),
        ("BELLWETHER_CLICKHOUSE_DATABASE", "bellwether_bench".to_owned()),
        ("BELLWETHER_OTLP_ENDPOINT", collector.url().to_owned()),
    ]
}

async fn one_run(
    arguments: &Arguments,
    data: &Path,
    settings: &[(&str, String)],
    looking: Option<&Handle>,
) -> anyhow::Result<Round> {
    let scheduler = Scheduler::start(data, None, settings).await?;
    let load = Load::new(Shape::Single(arguments.jobs), "at_least_once", 32);
    let client = Client::connect(scheduler.address()).await?;
    let fleet = Fleet::start(scheduler.address(), arguments.workers, arguments.slots, &load)?;
    fleet.wait_until_known(&client).await?;
    load.warm_up(&client).await?;
    let http = scheduler.http().context("it was started here")?;
    let onlookers = looking.map(|elsewhere| {
        Onlookers::start(elsewhere, scheduler.address(), http, arguments.followers)
    });
    let process = scheduler.process().context("it was started here")?;
    let before = Processor::of(process);
    submitter::submit(&client, &load, None, 500).await?;
    load.wait_until_confirmed(&client).await?;
    let processor = Processor::of(process).since(before, arguments.jobs);
    let seen = match onlookers {
        Some(onlookers) => Some(onlookers.stop().await?),
        None => None,
    };
    fleet.stop().await?;
    scheduler.stop().await?;
    Ok(Round { on: looking.is_some(), jobs_per_s: load.completed_per_s(), processor, seen })
}

fn elsewhere() -> std::io::Result<Runtime> {
    let give_way = || {
        let this = rustix::thread::gettid();
        if let Err(error) = rustix::process::setpriority_process(Some(this), 19) {
            eprintln!("warning: those who look on do not give way: {error}");
        }
    };
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(give_way)
        .enable_all()
        .build()
}
