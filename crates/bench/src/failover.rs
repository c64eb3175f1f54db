//! How long nothing starts when the leader of several schedulers goes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, NewJob, Outcome};
use clap::Args;
use serde::Serialize;
use tokio::sync::watch;

use crate::cluster::{Cluster, DEADLINE, Journal};
use crate::figures::{Sheet, quantile_ms};

const TYPE: &str = "failover";
const WORKERS: usize = 4;
const SLOTS: u32 = 4;
/// Jobs that are submitted at a time, and the pause after them.
const BATCH: u64 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Kill the leader of several schedulers again and again under load, and measure each time how long
/// it takes until a job that was submitted afterwards starts.
#[derive(Debug, Args)]
pub struct Options {
    /// How often the leader is killed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// How often it is asked to let another lead
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    transfers: u32,
    /// Schedulers
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=9))]
    schedulers: u8,
    /// Where the schedulers have their journal
    #[arg(long, value_enum, default_value = "raft")]
    journal: Journal,
    /// Seconds of load without a fault, in which nobody else may come to lead
    #[arg(long, default_value_t = 10)]
    idle: u64,
}

#[derive(Debug, Serialize)]
pub struct Report {
    /// From the kill to the first start of a job that was submitted after it.
    gap_ms: Gap,
    /// The same where the leader was asked.
    transfer_gap_ms: Gap,
    /// How often another came to lead while nothing was wrong.
    leader_changes_idle: u64,
    jobs: u64,
}

#[derive(Debug, Serialize)]
struct Gap {
    count: usize,
    p50: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Transfer,
}

/// Who has started, and when.
#[derive(Debug, Clone, Default)]
struct Starts {
    // Handlers write it, and whoever measures reads it.
    at: Arc<Mutex<BTreeMap<String, Instant>>>,
    changed: watch::Sender<u64>,
}

/// # Errors
/// When a scheduler does not start, or nobody comes to lead.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let binary = std::env::current_exe().context("the binary that runs can be run")?;
    let mut cluster =
        Cluster::start(&binary, options.journal, usize::from(options.schedulers)).await?;
    let client = cluster.client()?;
    let starts = Starts::default();
    let _workers = starts.workers(&cluster)?;
    let (enough, load) = load(client.clone());
    let before = epoch(&client).await?;
    tokio::time::sleep(Duration::from_secs(options.idle)).await;
    let leader_changes_idle = epoch(&client).await?.saturating_sub(before);
    let (mut kills, mut transfers) = (Vec::new(), Vec::new());
    for round in 0..options.kills {
        kills.push(one(&mut cluster, &client, &starts, Fault::Kill, round).await?);
    }
    for round in 0..options.transfers {
        transfers.push(one(&mut cluster, &client, &starts, Fault::Transfer, round).await?);
    }
    enough.send_replace(true);
    let jobs = load.await??;
    Ok(Report {
        gap_ms: Gap::of(kills),
        transfer_gap_ms: Gap::of(transfers),
        leader_changes_idle,
        jobs,
    })
}

/// The leader goes; the time until something new starts.
async fn one(
    cluster: &mut Cluster,
    client: &Client,
    starts: &Starts,
    fault: Fault,
    round: u32,
) -> anyhow::Result<Duration> {
    let leader = cluster.leader().await?;
    let begun = Instant::now();
    match fault {
        Fault::Kill => cluster.kill(leader).await?,
        Fault::Transfer => client.transfer(0).await?,
    }
    let id = format!("{fault:?}-{round}").to_lowercase();
    client.submit(NewJob::new(TYPE).id(&id)).await?;
    let gap = starts.of(&id).await?.saturating_duration_since(begun);
    if matches!(fault, Fault::Kill) {
        cluster.launch(leader).await?;
    }
    Ok(gap)
}

async fn epoch(client: &Client) -> anyhow::Result<u64> {
    Ok(client.status().await?.epoch)
}

/// Jobs all the time, until there is enough of it.
fn load(client: Client) -> (watch::Sender<bool>, tokio::task::JoinHandle<anyhow::Result<u64>>) {
    let (enough, is_enough) = watch::channel(false);
    let run = async move {
        let mut jobs = 0;
        while !*is_enough.borrow() {
            let batch = (0..BATCH).map(|_| NewJob::new(TYPE));
            client.submit_many(batch).await?;
            jobs += BATCH;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(jobs)
    };
    (enough, tokio::spawn(run))
}

impl Starts {
    fn workers(&self, cluster: &Cluster) -> anyhow::Result<Vec<RunningWorker>> {
        let start = |number| {
            let starts = self.clone();
            let handler = move |context: Context| {
                starts.note(context.id());
                std::future::ready(Outcome::done(""))
            };
            let worker = cluster.worker().id(format!("w{number}"));
            Ok(worker.slots(SLOTS).job(TYPE, handler).start()?)
        };
        (0..WORKERS).map(start).collect()
    }

    fn note(&self, id: &str) {
        // Those of the load are many, and nobody asks for them.
        if id.starts_with("kill-") || id.starts_with("transfer-") {
            let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
            at.entry(id.to_owned()).or_insert_with(Instant::now);
            drop(at);
            self.changed.send_modify(|count| *count += 1);
        }
    }

    async fn of(&self, id: &str) -> anyhow::Result<Instant> {
        let known = || {
            let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
            at.get(id).copied()
        };
        let mut changed = self.changed.subscribe();
        let started = changed.wait_for(|_| known().is_some());
        drop(tokio::time::timeout(DEADLINE, started).await.context("the job does not start")??);
        known().context("it was there a line ago")
    }
}

impl Gap {
    fn of(gaps: Vec<Duration>) -> Gap {
        let nanos = |gap: Duration| u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX);
        let mut sorted: Vec<u64> = gaps.into_iter().map(nanos).collect();
        sorted.sort_unstable();
        let at = |share| quantile_ms(&sorted, share);
        Gap { count: sorted.len(), p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

impl Report {
    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&["the leader", "times", "p50 ms", "p99 ms", "max ms"]);
        for (name, gap) in [("was killed", &self.gap_ms), ("was asked", &self.transfer_gap_ms)] {
            if gap.count > 0 {
                sheet.row(name, &[gap.count as f64, gap.p50, gap.p99, gap.max]);
            }
        }
        let (changes, jobs) = (self.leader_changes_idle, self.jobs);
        sheet.closing = format!(
            "\n{changes} changes of the leader while nothing was wrong; {jobs} jobs meanwhile\n"
        );
        sheet
    }
}
