//! What it costs that everybody must show who they are, and that the past is signed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use bellwether_sdk::worker::key::generate;
use bellwether_wire::json::reply::{Place, Reply, reply_from_json, seal};
use clap::Args;
use serde::Serialize;

use crate::figures::{Sheet, median};
use crate::load::{Load, Payload, Shape, WARM_UP_JOBS};
use crate::scheduler::Scheduler;
use crate::stage::{Fleet, Stage, folder_in};
use crate::submit::{self, submit};

const PAYLOAD_BYTES: usize = 32;
/// Signed reports that are read.
const REPORTS: u32 = 2_000;

/// Jobs a second end to end with tokens, keys of workers and a checkpoint a second, and without any of
/// them. Rounds of both alternate. Then what it takes to read and verify a signed report of a queue.
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
    /// Folder for data, removed afterwards; the current folder by default
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    /// Of the medians: on through off.
    ratio: f64,
    off_per_s: f64,
    on_per_s: f64,
    /// Of a signed report: to read it and verify it.
    report_us: f64,
    jobs: u64,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
struct Round {
    on: bool,
    jobs_per_s: f64,
}

/// # Errors
/// When a scheduler does not start, or jobs do not end.
pub async fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = folder_in(options.data_dir.as_deref())?;
    let mut rounds = Vec::new();
    for number in 0..2 * options.rounds {
        // off on, on off, off on: what changes with time hits both alike.
        let on = (number / 2 + number) % 2 == 1;
        let data = folder.path().join(format!("data-{number}"));
        rounds.push(Round { on, jobs_per_s: one_run(options, &data, on).await? });
        std::fs::remove_dir_all(&data)?;
    }
    Ok(Report::new(options.jobs, rounds, signed_report()?))
}

/// Microseconds that a report over a queue takes, from its bytes until it is known whose it is.
fn signed_report() -> anyhow::Result<f64> {
    const BODY: &str =
        r#"{"type":"complete","worker":"w1","job":17,"token":42,"result":{"stored":"a.png"}}"#;
    let (secret, scheduler) = (generate(), "urn:uuid:bench");
    let place = Place { scheduler, session: &[7; 32], number: 1 };
    let sealed = seal(BODY, place, &secret)?;
    let mut took = Vec::new();
    for _ in 0..REPORTS {
        let begun = Instant::now();
        let Reply::Said(said, Some(seal)) = reply_from_json(&sealed)? else {
            anyhow::bail!("what was sealed has no seal");
        };
        seal.verify(&said, scheduler)?;
        took.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    // The middle one: what somebody else's work takes of the processor is not a report's cost.
    Ok(median(took))
}

async fn one_run(options: &Options, data: &Path, on: bool) -> anyhow::Result<f64> {
    let (auth, every) = if on { ("on", "1s") } else { ("off", "0") };
    let settings =
        [("BELLWETHER_AUTH", auth.to_owned()), ("BELLWETHER_CHECKPOINTS_EVERY", every.to_owned())];
    let scheduler = Scheduler::start(data, None, &settings).await?;
    let load = |name, jobs| Load::new(name, Shape::Single(jobs), Payload::Filled(PAYLOAD_BYTES));
    let (warm_up, load) = (load("warm", WARM_UP_JOBS), load("job", options.jobs));
    let fleet = Fleet { workers: options.workers, slots: options.slots, keys: on };
    let stage = Stage::start(scheduler, fleet, &[&warm_up, &load]).await?;
    warm_up.warm_up(&stage.client).await?;
    submit(&stage.client, &load, None, submit::BATCH).await?;
    load.tally.wait_until_confirmed().await?;
    stage.stop().await?;
    let took = load.tally.took().context("all jobs have ended")?;
    Ok(options.jobs as f64 / took.as_secs_f64())
}

impl Report {
    fn new(jobs: u64, rounds: Vec<Round>, report_us: f64) -> Report {
        let of = |on| median(rounds.iter().filter(|r| r.on == on).map(|r| r.jobs_per_s));
        let (off_per_s, on_per_s) = (of(false), of(true));
        let ratio = on_per_s / off_per_s;
        Report { ratio, off_per_s, on_per_s, report_us, jobs, rounds }
    }

    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&["trust", "jobs/s"]);
        for round in &self.rounds {
            sheet.row(if round.on { "on" } else { "off" }, &[round.jobs_per_s]);
        }
        let (on, off) = (self.on_per_s, self.off_per_s);
        sheet.closing = format!(
            "\n{on:.0} of {off:.0} jobs/s: {:.2}\na signed report of a queue takes {:.0} us\n",
            self.ratio, self.report_us
        );
        sheet
    }
}
