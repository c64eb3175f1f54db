//! `bellwether bench --queue`: jobs through a broker, against jobs submitted directly in the same
//! run and against the broker alone.

mod broker_server;
mod direct;
mod report;
mod stage;
mod tally;
mod through;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_brokers::{Load, Side, raw_rate};
use rustix::process::Signal;

use super::server;
use crate::exit::Verdict;
use crate::output;
use crate::progress::Progress;
use broker_server::{BrokerServer, Kind};
use direct::Direct;
use report::{Measured, Row};
use stage::Stage;

pub(super) const EVENTS: [&str; 2] = ["all", "ended"];
pub(super) const KINDS: [&str; 6] = ["redis", "rabbitmq", "nats", "zeromq", "sqlite", "all"];

const ALL: [Kind; 5] = [Kind::Redis, Kind::RabbitMq, Kind::Nats, Kind::ZeroMq, Kind::Sqlite];

/// Jobs that go through as fast as it goes.
const JOBS: u64 = 50_000;
/// Jobs that are sent one by one, and how many a second, to see what the way costs each of them.
const PACED_JOBS: u64 = 2_000;
const PACED_RATE: f64 = 500.0;

/// How large a measurement is.
#[derive(Debug, Clone, Copy)]
struct Scale {
    jobs: u64,
    paced_jobs: u64,
    workers: u32,
    slots: u32,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Plan<'a> {
    kinds: &'a [Kind],
    events: &'a str,
    rounds: u32,
    scale: Scale,
    parent: &'a Path,
}

pub(super) fn run(
    wanted: &[String],
    events: &str,
    rounds: u32,
    arguments: &server::Arguments,
) -> anyhow::Result<Verdict> {
    let all = wanted.iter().any(|name| name == "all");
    let kinds = ALL.into_iter().filter(|kind| all || wanted.iter().any(|w| w == kind.name()));
    let kinds: Vec<Kind> = kinds.collect();
    let jobs = arguments.jobs.unwrap_or(JOBS);
    let scale = Scale {
        jobs,
        paced_jobs: PACED_JOBS.min(jobs),
        workers: arguments.workers,
        slots: arguments.slots,
    };
    anyhow::ensure!(
        scale.workers > 0,
        "jobs through a queue need workers; give --workers 1 or more"
    );
    let parent = arguments.data_dir.clone().unwrap_or_else(|| PathBuf::from("."));
    std::fs::create_dir_all(&parent)?;
    let runtime = crate::runtime::start()?;
    let plan = Plan { kinds: &kinds, events, rounds, scale, parent: &parent };
    let rows = runtime.block_on(measure(plan))?;
    runtime.shutdown_background();
    if arguments.json {
        output::print_json(&rows)?;
    } else {
        output::print(&report::readable(&rows, rounds))?;
    }
    Ok(Verdict::Fine)
}

/// In turns: what changes with time, and a disk that stands still for a moment, hits all alike.
async fn measure(plan: Plan<'_>) -> anyhow::Result<Vec<Row>> {
    let steps = u64::from(plan.rounds) * (plan.kinds.len() as u64 + 1);
    let progress = Progress::new(steps, "measurements");
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress.reached(done);
    };
    let mut directs = Vec::new();
    let mut through: Vec<Vec<Measured>> = vec![Vec::new(); plan.kinds.len()];
    for _ in 0..plan.rounds {
        directs.push(measure_direct(plan).await.context("jobs submitted directly")?);
        step();
        for (kind, through) in plan.kinds.iter().zip(&mut through) {
            let measured = measure_through(plan, *kind).await;
            through.push(measured.with_context(|| format!("jobs through {}", kind.name()))?);
            step();
        }
    }
    let rows = plan.kinds.iter().zip(&through);
    Ok(rows.map(|(kind, through)| Row::new(*kind, through, &directs)).collect())
}

async fn measure_direct(Plan { scale, parent, .. }: Plan<'_>) -> anyhow::Result<Direct> {
    let stage = Stage::start(parent, "", scale).await?;
    let measured = direct::measure(&stage, scale).await?;
    stage.stop().await?;
    Ok(measured)
}

async fn measure_through(plan: Plan<'_>, kind: Kind) -> anyhow::Result<Measured> {
    let Plan { scale, parent, events, .. } = plan;
    let mut server = BrokerServer::start(kind, parent).await?;
    let load = Load {
        messages: usize::try_from(scale.jobs)?,
        batch: through::BATCH,
        bytes: through::job("fast-10000").len(),
        calls: through::LANES,
        ..Load::default()
    };
    let raw = raw_rate(&server.settings(Side::Scheduler), load).await;
    let raw_per_s = raw.context("the broker alone")?.through_per_second;
    server.end(Signal::KILL).await?;
    // A server of its own, so that what was left behind does not count.
    let server = BrokerServer::start(kind, parent).await?;
    let queue = server.config();
    let queue = queue.trim_end_matches('}');
    let queue = format!("queue: {queue}, events: {events}}}\n");
    let stage = Stage::start(parent, &queue, scale).await?;
    let through = through::measure(&stage, &server, scale).await?;
    stage.stop().await?;
    Ok(Measured { through, raw_per_s })
}
