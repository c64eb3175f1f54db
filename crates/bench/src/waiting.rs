//! Jobs that wait throughout a measurement, and what the scheduler's snapshots of them cost.

use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Client, v1};
use clap::Args;
use serde::Serialize;

use crate::http::{buckets, get, metric, seconds};
use crate::scheduler::Scheduler;
use crate::stage::Stage;

/// No worker handles it.
const TYPE: &str = "bench-waits";
/// Submissions in one call.
const BATCH: u64 = 1_000;
/// Between two snapshots that are asked for.
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct Options {
    /// Jobs that wait all the time, because no worker handles their type
    #[arg(long, default_value_t = 0, value_name = "JOBS", conflicts_with = "server",
        value_parser = clap::value_parser!(u64).range(0..=20_000_000))]
    waiting: u64,
    /// The setting of the scheduler that is started
    #[arg(long, value_name = "EVENTS", conflicts_with = "server")]
    snapshot_every: Option<u64>,
    /// Ask for one snapshot after the other while jobs run
    #[arg(long, conflicts_with = "server")]
    snapshots: bool,
}

/// What happened while jobs ran.
#[derive(Debug, Serialize)]
pub struct Stalls {
    waiting: u64,
    /// From when a job was to be sent until its handler started, of the one that waited longest.
    start_max_ms: f64,
    /// No round of the loop took longer.
    round_max_ms: f64,
    /// The longest slice of a snapshot, since the start.
    slice_max_ms: f64,
    snapshots: u64,
    /// The scheduler's memory before, and its peak.
    rss_before_bytes: u64,
    rss_peak_bytes: u64,
}

/// How things were when jobs began to run.
#[derive(Debug)]
pub(crate) struct Before {
    rounds: Vec<(f64, u64)>,
    snapshots: u64,
    rss_bytes: u64,
    asking: Option<tokio::task::JoinHandle<()>>,
}

impl Options {
    pub(crate) fn are_given(&self) -> bool {
        self.waiting > 0 || self.snapshots || self.snapshot_every.is_some()
    }

    /// Variables for the scheduler.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = Vec::new();
        if let Some(events) = self.snapshot_every {
            settings.push(("BELLWETHER_SNAPSHOT_EVERY", events.to_string()));
        }
        if self.waiting > 0 {
            // Twice as many, so that nobody is asked to slow down.
            let jobs_max = (self.waiting * 2 + 2_000_000).to_string();
            settings.push(("BELLWETHER_JOBS_MAX", jobs_max));
        }
        settings
    }

    /// Submits what is to wait, and looks how things are then.
    pub(crate) async fn begin(&self, stage: &Stage) -> anyhow::Result<Before> {
        submit(&stage.client, self.waiting).await?;
        let metrics = metrics(&stage.scheduler).await?;
        stage.scheduler.forget_peak_memory()?;
        let asking = self.snapshots.then(|| tokio::spawn(ask(stage.client.clone())));
        Ok(Before {
            rounds: rounds(&metrics),
            snapshots: metric(&metrics, "bellwether_snapshots_total")?,
            rss_bytes: stage.scheduler.memory().context("its memory is unknown")?,
            asking,
        })
    }

    pub(crate) async fn end(
        &self,
        before: Before,
        stage: &Stage,
        start_max_ms: f64,
    ) -> anyhow::Result<Stalls> {
        if let Some(asking) = before.asking {
            asking.abort();
        }
        let metrics = metrics(&stage.scheduler).await?;
        let slice = seconds(&metrics, "bellwether_snapshot_slice_longest_seconds");
        Ok(Stalls {
            waiting: self.waiting,
            start_max_ms,
            round_max_ms: longest(&before.rounds, &rounds(&metrics)) * 1e3,
            slice_max_ms: slice * 1e3,
            snapshots: metric(&metrics, "bellwether_snapshots_total")? - before.snapshots,
            rss_before_bytes: before.rss_bytes,
            rss_peak_bytes: stage.scheduler.peak_memory().context("its memory is unknown")?,
        })
    }
}

impl Stalls {
    pub(crate) fn rows(&self) -> [(&'static str, f64); 7] {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        [
            ("jobs that wait", self.waiting as f64),
            ("snapshots", self.snapshots as f64),
            ("start ms, longest", self.start_max_ms),
            ("round of the loop ms, at most", self.round_max_ms),
            ("slice of a snapshot ms, longest", self.slice_max_ms),
            ("memory before, MiB", mib(self.rss_before_bytes)),
            ("memory at most, MiB", mib(self.rss_peak_bytes)),
        ]
    }
}

async fn submit(client: &Client, jobs: u64) -> anyhow::Result<()> {
    let mut next = 0;
    while next < jobs {
        let end = (next + BATCH).min(jobs);
        let job = |number| v1::JobSpec {
            payload: vec![b'x'; 32].into(),
            ..v1::JobSpec::new(format!("waits-{number}"), TYPE)
        };
        let single = |number| v1::Submission {
            run_id: String::new(),
            jobs: vec![job(number)],
            ..Default::default()
        };
        for result in client.submit_batch((next..end).map(single).collect()).await? {
            result?;
        }
        next = end;
    }
    Ok(())
}

/// One snapshot after the other.
async fn ask(client: Client) {
    while let Ok(position) = client.save_snapshot().await {
        tracing::debug!(position, "a snapshot was saved");
        tokio::time::sleep(SNAPSHOT_PAUSE).await;
    }
}

async fn metrics(scheduler: &Scheduler) -> anyhow::Result<String> {
    get(scheduler.http().context("it was started here")?, "/metrics").await
}

fn rounds(metrics: &str) -> Vec<(f64, u64)> {
    buckets(metrics, "bellwether_loop_round_seconds")
}

/// The bound of the last bucket that anything has come into.
fn longest(before: &[(f64, u64)], after: &[(f64, u64)]) -> f64 {
    let earlier = |bound: f64| before.iter().find(|(b, _)| *b == bound).map_or(0, |(_, n)| *n);
    let since: Vec<_> =
        after.iter().map(|(bound, count)| (*bound, count - earlier(*bound))).collect();
    let all = since.last().map_or(0, |(_, count)| *count);
    since.iter().find(|(_, count)| *count == all).map_or(0.0, |(bound, _)| *bound)
}
