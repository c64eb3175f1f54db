//! What it costs to be looked at.

mod clickhouse;
mod collector;
mod onlookers;
mod processor;
mod report;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::{Handle, Runtime};

use crate::load::{Load, Payload, Shape, WARM_UP_JOBS};
use crate::scheduler::Scheduler;
use crate::stage::{Fleet, Stage, folder_in};
use crate::submit::{self, submit};
use clickhouse::ClickHouse;
use collector::Collector;
use onlookers::Onlookers;
use processor::Processor;
pub use report::Report;
use report::Round;

const PAYLOAD_BYTES: usize = 32;

/// Jobs a second end to end with everything switched on that looks at the scheduler, and with
/// nothing: metrics scraped every second, followers of all events of which one takes nothing,
/// ClickHouse, and a collector of traces. Rounds of both alternate.
#[derive(Debug, Args)]
pub struct Options {
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
}

/// # Errors
/// When a server does not start, or jobs do not end.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = folder_in(options.data_dir.as_deref())?;
    let clickhouse = match &options.clickhouse {
        Some(url) => ClickHouse::Running(url.clone()),
        None => ClickHouse::start(folder.path()).await?,
    };
    // Those who look on would not share the machine, so here they go last.
    let elsewhere = elsewhere()?;
    let collector = elsewhere.spawn(Collector::start()).await??;
    let mut rounds = Vec::new();
    for number in 0..2 * options.rounds {
        // off on, on off, off on: what changes with time hits both alike.
        let on = (number / 2 + number) % 2 == 1;
        let data = folder.path().join(format!("data-{number}"));
        let settings = if on { watched(&clickhouse, &collector) } else { unwatched() };
        let looking = on.then(|| elsewhere.handle());
        rounds.push(one_run(options, &data, &settings, looking).await?);
        std::fs::remove_dir_all(&data)?;
    }
    elsewhere.shutdown_background();
    Ok(Report::new(options.jobs, clickhouse.name(), collector.spans(), rounds))
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
    options: &Options,
    data: &Path,
    settings: &[(&str, String)],
    looking: Option<&Handle>,
) -> anyhow::Result<Round> {
    let scheduler = Scheduler::start(data, None, settings).await?;
    let http = scheduler.http().context("it was started here")?.to_owned();
    let process = scheduler.process().context("it was started here")?;
    let load = |name, jobs| Load::new(name, Shape::Single(jobs), Payload::Filled(PAYLOAD_BYTES));
    let (warm_up, load) = (load("warm", WARM_UP_JOBS), load("job", options.jobs));
    let fleet = Fleet { workers: options.workers, slots: options.slots, keys: true };
    let stage = Stage::start(scheduler, fleet, &[&warm_up, &load]).await?;
    warm_up.warm_up(&stage.client).await?;
    let onlookers = match looking {
        Some(elsewhere) => {
            let grpc = stage.scheduler.address();
            Some(Onlookers::start(elsewhere, grpc, &http, options.followers).await?)
        }
        None => None,
    };
    let before = Processor::of(process);
    submit(&stage.client, &load, None, submit::BATCH).await?;
    load.tally.wait_until_confirmed().await?;
    let processor = Processor::of(process).since(before, options.jobs);
    let seen = match onlookers {
        Some(onlookers) => Some(onlookers.stop().await?),
        None => None,
    };
    stage.stop().await?;
    let took = load.tally.took().context("all jobs have ended")?;
    let jobs_per_s = options.jobs as f64 / took.as_secs_f64();
    Ok(Round { on: looking.is_some(), jobs_per_s, processor, seen })
}

fn elsewhere() -> std::io::Result<Runtime> {
    let lower_priority = || {
        let this = rustix::thread::gettid();
        if let Err(error) = rustix::process::setpriority_process(Some(this), 19) {
            tracing::warn!(%error, "those who look on do not give way");
        }
    };
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(lower_priority)
        .enable_all()
        .build()
}
