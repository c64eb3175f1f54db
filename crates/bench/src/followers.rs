//! What slow followers of events cost those who wait for their jobs to start.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::figures::{Sheet, median};
use crate::http::take_little;
use crate::load::{Load, Payload, Shape, WARM_UP_JOBS};
use crate::scheduler::Scheduler;
use crate::stage::{Fleet, Stage, folder_in};
use crate::submit::{BATCH, submit};

const PAYLOAD_BYTES: usize = 32;
const FLEET: Fleet = Fleet { workers: 4, slots: 16, keys: true };

/// Time until a job starts with many followers of all events that take 100 bytes a second, and with
/// none. Rounds of both alternate.
#[derive(Debug, Args)]
pub struct Options {
    /// Followers
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=250))]
    readers: u32,
    /// Jobs a second
    #[arg(long, default_value_t = 1_000.0, value_name = "JOBS/S")]
    rate: f64,
    /// No-op jobs in each run
    #[arg(long, default_value_t = 8_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    jobs: u64,
    /// Runs of each kind
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Folder for data, removed afterwards; the current folder by default
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    /// Of the medians of p99: with through without.
    ratio: f64,
    without_p99_ms: f64,
    with_p99_ms: f64,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
struct Round {
    readers: u32,
    start_p50_ms: f64,
    start_p99_ms: f64,
}

/// # Errors
/// When the scheduler does not start, or jobs do not end.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = folder_in(options.data_dir.as_deref())?;
    let mut rounds = Vec::new();
    for number in 0..2 * options.rounds {
        // without with, with without: what changes with time hits both alike.
        let readers = if (number / 2 + number) % 2 == 1 { options.readers } else { 0 };
        let data = folder.path().join(format!("data-{number}"));
        rounds.push(one_run(options, &data, readers).await?);
        std::fs::remove_dir_all(&data)?;
    }
    let p99 = |with: bool| {
        let of_kind = rounds.iter().filter(|round| (round.readers > 0) == with);
        median(of_kind.map(|round| round.start_p99_ms))
    };
    let (without_p99_ms, with_p99_ms) = (p99(false), p99(true));
    Ok(Report { ratio: with_p99_ms / without_p99_ms, without_p99_ms, with_p99_ms, rounds })
}

async fn one_run(options: &Options, data: &Path, readers: u32) -> anyhow::Result<Round> {
    let scheduler = Scheduler::start(data, None, &[]).await?;
    let http = scheduler.http().context("it was started here")?.to_owned();
    let load = |name, jobs| Load::new(name, Shape::Single(jobs), Payload::Filled(PAYLOAD_BYTES));
    let (warm_up, load) = (load("warm", WARM_UP_JOBS), load("job", options.jobs));
    let stage = Stage::start(scheduler, FLEET, &[&warm_up, &load]).await?;
    warm_up.warm_up(&stage.client).await?;
    let mut following: JoinSet<()> = (0..readers).map(|_| take_little(http.clone())).collect();
    submit(&stage.client, &load, Some(options.rate), BATCH).await?;
    load.tally.wait_until_confirmed().await?;
    following.shutdown().await;
    stage.stop().await?;
    let starts = load.tally.until_started();
    Ok(Round {
        readers,
        start_p50_ms: starts.quantile_ms(0.5),
        start_p99_ms: starts.quantile_ms(0.99),
    })
}

impl Report {
    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&["slow readers", "start ms, p50", "start ms, p99"]);
        for round in &self.rounds {
            sheet.row(round.readers.to_string(), &[round.start_p50_ms, round.start_p99_ms]);
        }
        let Report { with_p99_ms, without_p99_ms, ratio, .. } = self;
        sheet.closing = format!(
            "\np99 {with_p99_ms:.2} ms with them and {without_p99_ms:.2} ms without: {ratio:.2}\n"
        );
        sheet
    }
}
