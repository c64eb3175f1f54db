//! What came out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::load::{Load, Shape};
use super::submitter::Submitted;
use crate::output::{Table, number};

#[derive(Debug, Serialize)]
pub(super) struct Report {
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

pub(super) fn build(
    load: &Load,
    submitted: Submitted,
    total: Duration,
    mut fsyncs: Vec<u64>,
    rss_bytes: Option<u64>,
) -> Report {
    fsyncs.sort_unstable();
    let jobs = load.jobs();
    let times = &load.times;
    let first = times.sent.iter().map(read).filter(|&at| at > 0).min().unwrap_or(0);
    let last = times.confirmed.iter().map(read).max().unwrap_or(0);
    let complete_s = last.saturating_sub(first) as f64 / 1e9;
    let total_s = if last > 0 { complete_s } else { total.as_secs_f64() };
    Report {
        submit_per_s: jobs as f64 / submitted.took.as_secs_f64(),
        complete_per_s: if last > 0 { jobs as f64 / complete_s } else { 0.0 },
        start_ms: latency(&times.sent, &times.started),
        result_ms: latency(&times.sent, &times.confirmed),
        fsync_ms: Fsync { p50: quantile(&fsyncs, 0.5), p99: quantile(&fsyncs, 0.99) },
        rss_bytes,
        total_s,
        jobs,
        refused: submitted.refused,
        link_ms: matches!(load.shape, Shape::Chain(_)).then(|| total_s * 1e3 / jobs as f64),
    }
}

fn latency(from: &[AtomicU64], to: &[AtomicU64]) -> Latency {
    let mut spans: Vec<u64> = from
        .iter()
        .zip(to)
        .filter(|(_, to)| read(to) > 0)
        .map(|(from, to)| read(to).saturating_sub(read(from)))
        .collect();
    spans.sort_unstable();
    let at = |share| quantile(&spans, share);
    Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
}

fn read(time: &AtomicU64) -> u64 {
    time.load(Ordering::Relaxed)
}

/// Milliseconds, of sorted nanoseconds.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let nanos = sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0);
    nanos as f64 / 1e6
}

impl Report {
    pub(super) fn readable(&self) -> String {
        let mut table = Table::new(&["", "measured"]);
        let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
        row("submissions/s, durable", number(self.submit_per_s));
        row("jobs/s, end to end", number(self.complete_per_s));
        for (name, latency) in [("start ms", &self.start_ms), ("result ms", &self.result_ms)] {
            row(&format!("{name}, p50"), number(latency.p50));
            row(&format!("{name}, p99"), number(latency.p99));
            row(&format!("{name}, p99.9"), number(latency.p999));
        }
        row("fsync ms, p50", number(self.fsync_ms.p50));
        row("fsync ms, p99", number(self.fsync_ms.p99));
        if let Some(bytes) = self.rss_bytes {
            row("scheduler's memory, MiB", number(bytes as f64 / f64::from(1 << 20)));
        }
        if let Some(link) = self.link_ms {
            row("ms for each link", number(link));
        }
        row("total s", number(self.total_s));
        table.render()
    }
}
