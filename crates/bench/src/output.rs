//! What it costs that jobs print.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::{Client, NewJob, v1};
use clap::Args;
use serde::Serialize;
use tokio::process::{Child, Command};

use crate::figures::{Sheet, median};
use crate::scheduler::Scheduler;
use crate::stage::folder_in;

const KNOWN_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(5);
const WARM_UP_JOBS: u32 = 50;

/// Commands a second that print lines, against the same commands with their output thrown away on the
/// worker. Rounds of both alternate.
#[derive(Debug, Args)]
pub struct Options {
    /// Commands in each run
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    jobs: u32,
    /// Lines that each prints
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    lines: u32,
    /// Runs of each kind
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Commands that run at a time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: u32,
    /// Folder for data, removed afterwards; the current folder by default
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    jobs: u32,
    lines: u32,
    /// The middle of the rounds.
    printing_per_s: f64,
    silent_per_s: f64,
    /// The first as a share of the second.
    ratio: f64,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
struct Round {
    printing: bool,
    jobs_per_s: f64,
    /// Bytes that can be read of the last job.
    kept_bytes: u64,
}

impl Report {
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&["commands", "jobs/s"]);
        sheet.row(format!("{} lines each", self.lines), &[self.printing_per_s]);
        sheet.row("silent", &[self.silent_per_s]);
        let rounds = self.rounds.len() / 2;
        sheet.closing = format!("{:.3} of silent; the middle of {rounds} rounds.\n", self.ratio);
        sheet
    }
}

/// # Errors
/// When the scheduler or the worker does not start, or jobs do not complete.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = folder_in(options.data_dir.as_deref())?;
    let mut rounds = Vec::new();
    for number in 0..2 * options.rounds {
        // Both alike are hit by what changes with time.
        let printing = (number / 2 + number) % 2 == 1;
        let data = folder.path().join(format!("data-{number}"));
        rounds.push(one_run(options, &data, printing).await?);
        std::fs::remove_dir_all(&data)?;
    }
    let middle = |printing| {
        let rounds = rounds.iter().filter(|round: &&Round| round.printing == printing);
        median(rounds.map(|round| round.jobs_per_s))
    };
    let (printing_per_s, silent_per_s) = (middle(true), middle(false));
    let (jobs, lines, ratio) = (options.jobs, options.lines, printing_per_s / silent_per_s);
    Ok(Report { jobs, lines, printing_per_s, silent_per_s, ratio, rounds })
}

async fn one_run(options: &Options, data: &Path, printing: bool) -> anyhow::Result<Round> {
    let scheduler = Scheduler::start(data, None, &[]).await?;
    let client = Client::connect(scheduler.address()).await?;
    let mut worker = start_worker(scheduler.address(), options.slots)?;
    let known = async {
        while client.workers(false).await?.is_empty() {
            tokio::time::sleep(POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(KNOWN_WITHIN, known).await.context("the worker did not register")??;
    let redirect = if printing { "" } else { " > /dev/null" };
    let script = format!("seq 1 {}{redirect}", options.lines);
    run_all(&client, "warm", WARM_UP_JOBS, &script).await?;
    let took = run_all(&client, "job", options.jobs, &script).await?;
    let kept_bytes = kept(&client, &format!("job-{}", options.jobs - 1)).await?;
    worker.kill().await.context("failed to stop the worker")?;
    scheduler.stop().await?;
    let jobs_per_s = f64::from(options.jobs) / took.as_secs_f64();
    Ok(Round { printing, jobs_per_s, kept_bytes })
}

fn start_worker(address: &str, slots: u32) -> anyhow::Result<Child> {
    let binary = std::env::current_exe().context("failed to find this binary")?;
    Command::new(binary)
        .args(["worker", "--server", address, "--slots", &slots.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .context("failed to start a worker")
}

async fn run_all(client: &Client, name: &str, jobs: u32, script: &str) -> anyhow::Result<Duration> {
    let payload = serde_json::json!({ "argv": ["sh", "-c", script] }).to_string();
    let ids: Vec<String> = (0..jobs).map(|number| format!("{name}-{number}")).collect();
    let begun = Instant::now();
    let job = |id: &String| NewJob::new("exec").id(id.clone()).payload(payload.clone());
    let submissions = ids.iter().map(|id| v1::Submission::from(job(id))).collect();
    for accepted in client.submit_batch(submissions).await? {
        accepted?;
    }
    let mut ended = client.follow(ids, false);
    while let Some(job) = ended.next().await? {
        anyhow::ensure!(job.state() == v1::JobState::Completed, "job {} failed", job.id());
    }
    Ok(begun.elapsed())
}

async fn kept(client: &Client, id: &str) -> anyhow::Result<u64> {
    let request = v1::WatchLogsRequest { id: id.to_owned(), ..Default::default() };
    let mut output = client.logs(request);
    let mut bytes = 0;
    while let Some(response) = output.next().await? {
        bytes += response.pieces.iter().map(|piece| piece.data.len() as u64).sum::<u64>();
    }
    Ok(bytes)
}
