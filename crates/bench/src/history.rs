//! How quickly a scheduler with a long history answers.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::{Client, NewJob, v1};
use clap::Args;
use serde::Serialize;

use crate::figures::{Sheet, quantile_ms};
use crate::http::get;
use crate::load::{Load, Payload, STUCK_AFTER, Shape};
use crate::scheduler::Scheduler;
use crate::stage::{Fleet, Stage, folder_in};
use crate::submit::{BATCH, submit};

const PAYLOAD_BYTES: usize = 32;
const FLEET: Fleet = Fleet { workers: 4, slots: 64, keys: true };
/// After a reader was told that the history is behind.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Fills the history with jobs that have ended, and then times the status and reads after writes.
#[derive(Debug, Args)]
pub struct Options {
    /// Jobs that have ended
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(1..=50_000_000))]
    rows: u64,
    /// Questions of each kind, one after the other
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    queries: u64,
    /// Folder for data, removed afterwards; the current folder by default
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    /// As the status counts them.
    rows: u64,
    fill_per_s: f64,
    /// From the last result until all was in the history.
    settle_s: f64,
    status_ms: Times,
    read_after_write_ms: Times,
}

#[derive(Debug, Serialize)]
struct Times {
    p50: f64,
    p99: f64,
    max: f64,
}

/// # Errors
/// When the scheduler does not start, or jobs do not end.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = folder_in(options.data_dir.as_deref())?;
    let settings = [("BELLWETHER_HISTORY_JOBS_MAX", options.rows.to_string())];
    let scheduler = Scheduler::start(&folder.path().join("data"), None, &settings).await?;
    let http = scheduler.http().context("it was started here")?.to_owned();
    let load = Load::new("job", Shape::Single(options.rows), Payload::Filled(PAYLOAD_BYTES));
    let stage = Stage::start(scheduler, FLEET, &[&load]).await?;
    let begun = Instant::now();
    submit(&stage.client, &load, None, BATCH).await?;
    load.tally.wait_until_confirmed().await?;
    let fill_per_s = options.rows as f64 / begun.elapsed().as_secs_f64();
    let settle_s = settled(&stage.client, &load).await?.as_secs_f64();

    let status = stage.client.status().await?;
    let ended = |count: &&v1::StateCount| count.state().has_ended();
    let rows = status.jobs.iter().filter(ended).map(|count| count.count).sum();
    let status_ms = times(options.queries, || async {
        get(&http, "/scheduler/status").await.map(|_| Duration::ZERO)
    });
    let status_ms = status_ms.await?;
    let client = &stage.client;
    let read_after_write_ms = times(options.queries, || async {
        let begun = Instant::now();
        let accepted = client.submit(NewJob::new("nobody-runs-it")).await?;
        let submitting = begun.elapsed();
        client.job(accepted.id(), accepted.position).await?;
        Ok(submitting)
    });
    let read_after_write_ms = read_after_write_ms.await?;
    stage.stop().await?;
    Ok(Report { rows, fill_per_s, settle_s, status_ms, read_after_write_ms })
}

/// Waits until everything that has happened is in the history.
async fn settled(client: &Client, load: &Load) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let position = client.status().await?.position;
    let last = load.tally.id(load.jobs() - 1);
    while let Err(error) = client.job(&last, position).await {
        anyhow::ensure!(begun.elapsed() < STUCK_AFTER, "the history does not catch up: {error}");
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Ok(begun.elapsed())
}

/// Times each question; what it says of itself does not count.
async fn times<F>(questions: u64, ask: impl Fn() -> F) -> anyhow::Result<Times>
where
    F: Future<Output = anyhow::Result<Duration>>,
{
    let mut spans = Vec::new();
    for _ in 0..questions {
        let begun = Instant::now();
        let beside = ask().await?;
        spans.push(begun.elapsed().saturating_sub(beside).as_nanos() as u64);
    }
    spans.sort_unstable();
    let at = |share| quantile_ms(&spans, share);
    Ok(Times { p50: at(0.5), p99: at(0.99), max: at(1.0) })
}

impl Report {
    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&["", "measured"]);
        sheet.row("jobs that have ended", &[self.rows as f64]);
        sheet.row("jobs/s while it was filled", &[self.fill_per_s]);
        sheet.row("s until all was in the history", &[self.settle_s]);
        let both = [("status", &self.status_ms), ("read after write", &self.read_after_write_ms)];
        for (name, times) in both {
            sheet.row(format!("{name} ms, p50"), &[times.p50]);
            sheet.row(format!("{name} ms, p99"), &[times.p99]);
            sheet.row(format!("{name} ms, longest"), &[times.max]);
        }
        sheet
    }
}
