//! Submitter, scheduler and workers together, with a sync at every commit.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bellwether_sdk::v1;
use clap::Args;
use serde::Serialize;

use crate::cluster::{Cluster, Journal};
use crate::disk::DiskProbe;
use crate::figures::{Sheet, quantile_ms};
use crate::load::{Load, Payload, Shape, Spans, WARM_UP_JOBS};
use crate::scheduler::Scheduler;
use crate::stage::{Fleet, Stage, folder_in};
use crate::submit::{Submitted, submit};
use crate::waiting::{self, Stalls};

const JOBS: u64 = 200_000;
/// What a scheduler takes without being told.
const CONNECTIONS_USUAL: u32 = 2_048;
/// Of those who are not workers.
const OTHER_CONNECTIONS: u32 = 24;

#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct Options {
    /// No-op jobs to run; 200000 by default, 50000 through a queue
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) jobs: Option<u64>,
    /// Workers, all in this process, each with a connection of its own; 0 measures submissions alone
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) workers: u32,
    /// Slots of each worker
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) slots: u32,
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
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(8..=1_000_000))]
    payload_bytes: u32,
    /// A scheduler that runs, whose queue is then filled with the jobs of the measurement; without it one
    /// is started, whatever BELLWETHER_SERVER says
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// So many schedulers that keep the journal together (`journal: raft`), instead of one
    #[arg(long, value_name = "COUNT", conflicts_with = "server", value_parser = clap::value_parser!(u8).range(3..=9))]
    cluster: Option<u8>,
    /// Folder for the data of the scheduler and of the disk's measurement, removed afterwards;
    /// the current folder by default
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    waiting: waiting::Options,
}

#[derive(Debug, Serialize)]
pub struct Report {
    submit_per_s: f64,
    complete_per_s: f64,
    /// From when a job was to be sent until its handler started.
    start_ms: Latency,
    /// From when a job was to be sent until its result was durable and confirmed.
    result_ms: Latency,
    fsync_ms: Fsync,
    /// The scheduler's peak; null if it was not started here.
    rss_bytes: Option<u64>,
    total_s: f64,
    jobs: u64,
    refused: u64,
    /// Milliseconds for each job of a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_ms: Option<f64>,
    /// With jobs that wait, or snapshots.
    #[serde(skip_serializing_if = "Option::is_none")]
    stalls: Option<Stalls>,
}

#[derive(Debug, Serialize)]
struct Latency {
    p50: f64,
    p99: f64,
    p999: f64,
}

#[derive(Debug, Serialize)]
struct Fsync {
    p50: f64,
    p99: f64,
}

/// # Errors
/// When the scheduler can't be started or reached, refuses a job for good, or stands still.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = folder_in(options.data_dir.as_deref())?;
    let cluster = match options.cluster {
        Some(count) => {
            let binary = std::env::current_exe()?;
            Some(Cluster::start(&binary, Journal::Raft, usize::from(count)).await?)
        }
        None => None,
    };
    let scheduler = match (&options.server, &cluster) {
        (Some(address), _) => Scheduler::Running(address.clone()),
        (None, Some(cluster)) => Scheduler::Running(cluster.addresses()),
        (None, None) => {
            let mut settings = room_for(options.workers);
            settings.extend(options.waiting.settings());
            Scheduler::start(&folder.path().join("data"), None, &settings).await?
        }
    };
    let load = options.load();
    let warm_up = Load::new("warm", Shape::Single(WARM_UP_JOBS), load.payload);
    let warm_up = Load { guarantee: load.guarantee, ..warm_up };
    let fleet = Fleet { workers: options.workers, slots: options.slots, keys: true };
    let stage = Stage::start(scheduler, fleet, &[&load, &warm_up]).await?;
    if options.workers > 0 {
        warm_up.warm_up(&stage.client).await?;
    }

    let waiting = &options.waiting;
    let before = if waiting.are_given() { Some(waiting.begin(&stage).await?) } else { None };
    let probe = DiskProbe::start(&folder.path().join("fsync"))?;
    let begun = Instant::now();
    let submitted = submit(&stage.client, &load, options.rate, options.batch).await?;
    if options.workers > 0 {
        load.tally.wait_until_confirmed().await?;
    }
    let total = begun.elapsed();
    let fsyncs = probe.stop()?;
    let rss_bytes = stage.scheduler.peak_memory();
    let stalls = match before {
        Some(before) => {
            let start_max_ms = load.tally.until_started().quantile_ms(1.0);
            Some(waiting.end(before, &stage, start_max_ms).await?)
        }
        None => None,
    };
    stage.stop().await?;
    Ok(Report { stalls, ..Report::new(&load, submitted, total, fsyncs, rss_bytes) })
}

/// So many workers come from one address, which may take half of the connections.
fn room_for(workers: u32) -> Vec<(&'static str, String)> {
    let connections = 2 * (workers + OTHER_CONNECTIONS);
    if connections <= CONNECTIONS_USUAL {
        return Vec::new();
    }
    vec![("BELLWETHER_CONNECTIONS_MAX", connections.to_string())]
}

impl Options {
    fn load(&self) -> Load {
        let shape = match (self.chain, self.fan) {
            (Some(jobs), _) => Shape::Chain(jobs),
            (_, Some(jobs)) => Shape::Fan(jobs),
            _ => Shape::Single(self.jobs.unwrap_or(JOBS)),
        };
        let guarantee = match self.guarantee.as_str() {
            "at_most_once" => v1::Guarantee::AtMostOnce,
            "exactly_once" => v1::Guarantee::ExactlyOnce,
            _ => v1::Guarantee::AtLeastOnce,
        };
        let payload = Payload::Filled(self.payload_bytes as usize);
        Load { guarantee, ..Load::new("job", shape, payload) }
    }
}

impl Report {
    fn new(
        load: &Load,
        submitted: Submitted,
        total: Duration,
        mut fsyncs: Vec<u64>,
        rss_bytes: Option<u64>,
    ) -> Report {
        fsyncs.sort_unstable();
        let jobs = load.jobs();
        let completed = load.tally.took();
        let total_s = completed.unwrap_or(total).as_secs_f64();
        Report {
            submit_per_s: jobs as f64 / submitted.took.as_secs_f64(),
            complete_per_s: completed.map_or(0.0, |took| jobs as f64 / took.as_secs_f64()),
            start_ms: Latency::of(&load.tally.until_started()),
            result_ms: Latency::of(&load.tally.until_confirmed()),
            fsync_ms: Fsync { p50: quantile_ms(&fsyncs, 0.5), p99: quantile_ms(&fsyncs, 0.99) },
            rss_bytes,
            total_s,
            jobs,
            refused: submitted.refused,
            stalls: None,
            link_ms: matches!(load.shape, Shape::Chain(_)).then(|| total_s * 1e3 / jobs as f64),
        }
    }

    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&["", "measured"]);
        sheet.row("submissions/s, durable", &[self.submit_per_s]);
        sheet.row("jobs/s, end to end", &[self.complete_per_s]);
        for (name, latency) in [("start ms", &self.start_ms), ("result ms", &self.result_ms)] {
            sheet.row(format!("{name}, p50"), &[latency.p50]);
            sheet.row(format!("{name}, p99"), &[latency.p99]);
            sheet.row(format!("{name}, p99.9"), &[latency.p999]);
        }
        sheet.row("fsync ms, p50", &[self.fsync_ms.p50]);
        sheet.row("fsync ms, p99", &[self.fsync_ms.p99]);
        if let Some(bytes) = self.rss_bytes {
            sheet.row("scheduler's memory, MiB", &[bytes as f64 / f64::from(1 << 20)]);
        }
        if let Some(link) = self.link_ms {
            sheet.row("ms for each link", &[link]);
        }
        for (name, value) in self.stalls.iter().flat_map(Stalls::rows) {
            sheet.row(name, &[value]);
        }
        sheet.row("total s", &[self.total_s]);
        sheet
    }
}

impl Latency {
    fn of(spans: &Spans) -> Latency {
        let at = |share| spans.quantile_ms(share);
        Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
    }
}
