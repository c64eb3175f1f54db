//! `bellwether bench`: submitter, scheduler and workers together, with a sync at every commit.

pub(super) mod child;
mod disk;
pub(super) mod fleet;
pub(super) mod load;
mod report;
pub(super) mod submitter;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::Client;
use clap::Args;

use crate::exit::Verdict;
use crate::output;
use child::Scheduler;
use disk::DiskProbe;
use fleet::Fleet;
use load::{Load, Shape};
use report::Report;

#[derive(Debug, Clone, Args)]
pub(super) struct Arguments {
    /// No-op jobs to run; 200000 by default, 50000 through a queue
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(super) jobs: Option<u64>,
    /// Workers, all in this process; 0 measures submissions alone
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub(super) workers: u32,
    /// Slots of each worker
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) slots: u32,
    /// Jobs a second, submitted one by one at even intervals whatever comes back; without it as
    /// fast as it goes, in batches
    #[arg(long, value_name = "JOBS/S")]
    rate: Option<f64>,
    /// Submissions in one message, without --rate
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// How often a job may run
    #[arg(long, default_value = "at_least_once", value_parser = ["at_most_once", "at_least_once", "exactly_once"])]
    guarantee: String,
    /// One run instead: so many jobs, each after the one before
    #[arg(long, value_name = "JOBS", conflicts_with_all = ["rate", "jobs", "fan"])]
    chain: Option<u64>,
    /// One run instead: a root, so many jobs after it, and one after all of those
    #[arg(long, value_name = "JOBS", conflicts_with_all = ["rate", "jobs"])]
    fan: Option<u64>,
    /// Bytes of each payload
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(8..=1_000_000))]
    payload_bytes: u64,
    /// A scheduler that runs; without it one is started for the measurement
    #[arg(long, env = "BELLWETHER_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Folder for the data of the scheduler and of the disk's measurement, removed afterwards;
    /// the current folder by default
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let runtime = crate::runtime::start()?;
    let report = runtime.block_on(measure(&arguments))?;
    // Connections that are still open have nothing left to say.
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
    let scheduler = match &arguments.server {
        Some(address) => Scheduler::Running(address.clone()),
        None => Scheduler::start(&folder.path().join("data"), None, &[]).await?,
    };
    let load = Load::new(arguments.shape(), arguments.guarantee.as_str(), arguments.payload_bytes);
    let client = Client::connect(scheduler.address()).await?;
    let fleet = Fleet::start(scheduler.address(), arguments.workers, arguments.slots, &load)?;
    fleet.wait_until_known(&client).await?;
    if arguments.workers > 0 {
        load.warm_up(&client).await?;
    }

    let probe = DiskProbe::start(&folder.path().join("fsync"))?;
    let begun = Instant::now();
    let submitted = submitter::submit(&client, &load, arguments.rate, arguments.batch).await?;
    if arguments.workers > 0 {
        load.wait_until_confirmed(&client).await?;
    }
    let total = begun.elapsed();
    let fsyncs = probe.stop()?;
    let rss_bytes = scheduler.peak_memory();
    fleet.stop().await?;
    scheduler.stop().await?;
    Ok(report::build(&load, submitted, total, fsyncs, rss_bytes))
}

impl Arguments {
    fn shape(&self) -> Shape {
        match (self.chain, self.fan) {
            (Some(jobs), _) => Shape::Chain(jobs),
            (_, Some(jobs)) => Shape::Fan(jobs),
            _ => Shape::Single(self.jobs.unwrap_or(JOBS)),
        }
    }
}

const JOBS: u64 = 200_000;
/// Longer than this without any job that ends, and something is wrong.
const STUCK_AFTER: Duration = Duration::from_secs(60);
