//! Jobs through a broker, against jobs submitted directly in the same run and against the broker
//! alone.

mod raw_rate;
mod report;
mod through;

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use bellwether_brokers::Side;
use clap::Args;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::broker_server::{BrokerServer, Kind};
use crate::end_to_end;
use crate::load::{Load, Payload, Shape, WARM_UP_JOBS};
use crate::scheduler::Scheduler;
use crate::stage::{Fleet, Stage, folder_in};
use crate::submit::{self, submit};
use raw_rate::{Messages, raw_rate};
pub use report::{Row, sheet};

const EVENTS: [&str; 2] = ["all", "ended"];
const KINDS: [&str; 6] = ["redis", "rabbitmq", "nats", "zeromq", "sqlite", "all"];
const ALL: [Kind; 5] = [Kind::Redis, Kind::RabbitMq, Kind::Nats, Kind::ZeroMq, Kind::Sqlite];

/// Jobs that go through as fast as it goes.
const JOBS: u64 = 50_000;
/// Jobs that are sent one by one, and how many a second, to see what the way costs each of them.
const PACED_JOBS: u64 = 2_000;
const PACED_RATE: f64 = 500.0;

#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct Options {
    /// Measure jobs through queues instead, against jobs submitted directly: redis, rabbitmq, nats,
    /// zeromq, sqlite or all. Their servers are started for the measurement
    #[arg(long, value_name = "BACKEND", value_delimiter = ',', value_parser = KINDS)]
    pub queue: Vec<String>,
    /// With --queue: the events that are published to it, all of them or only how jobs ended
    #[arg(long, default_value = "all", value_parser = EVENTS, requires = "queue")]
    events: String,
    /// With --queue: how often everything is measured, in turns; the middle one counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100), requires = "queue")]
    pub rounds: u32,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Plan<'a> {
    events: &'a str,
    jobs: u64,
    fleet: Fleet,
    parent: &'a Path,
}

/// One round of one way.
#[derive(Debug, Clone, Copy)]
struct Measured {
    jobs_per_s: f64,
    start_p99_ms: f64,
}

/// The jobs of one round.
#[derive(Debug)]
struct Loads {
    /// Connections are open and durations known before the measurement begins.
    warm_up: Load,
    fast: Load,
    paced: Load,
}

impl Options {
    fn kinds(&self) -> Vec<Kind> {
        let wanted = |name| self.queue.iter().any(|wanted| wanted == name || wanted == "all");
        ALL.into_iter().filter(|kind| wanted(kind.name())).collect()
    }

    /// How often [`measure`] calls `step`.
    #[must_use]
    pub fn steps(&self) -> u64 {
        u64::from(self.rounds) * (self.kinds().len() as u64 + 1)
    }
}

/// In turns: what changes with time, and a disk that stands still for a moment, hits all alike.
///
/// # Errors
/// When a server does not start, or jobs do not come through.
pub async fn measure(
    options: &Options,
    with: &end_to_end::Options,
    mut step: impl FnMut(),
) -> anyhow::Result<Vec<Row>> {
    anyhow::ensure!(
        with.workers > 0,
        "jobs through a queue need workers; give --workers 1 or more"
    );
    let folder = folder_in(with.data_dir.as_deref())?;
    let plan = Plan {
        events: &options.events,
        jobs: with.jobs.unwrap_or(JOBS),
        fleet: Fleet { workers: with.workers, slots: with.slots, keys: true },
        parent: folder.path(),
    };
    let kinds = options.kinds();
    let mut directs = Vec::new();
    let mut through = vec![Vec::new(); kinds.len()];
    for _ in 0..options.rounds {
        directs.push(measure_direct(plan).await.context("jobs submitted directly")?);
        step();
        for (kind, through) in kinds.iter().zip(&mut through) {
            let measured = measure_through(plan, *kind).await;
            through.push(measured.with_context(|| format!("jobs through {}", kind.name()))?);
            step();
        }
    }
    let rows = kinds.iter().zip(&through);
    Ok(rows.map(|(kind, through)| Row::new(*kind, through, &directs)).collect())
}

/// Over gRPC: what the way through a queue is compared with.
async fn measure_direct(plan: Plan<'_>) -> anyhow::Result<Measured> {
    let loads = Loads::new(plan.jobs);
    let (stage, _folder) = loads.stage(plan, "").await?;
    loads.warm_up.warm_up(&stage.client).await?;
    let begun = Instant::now();
    submit(&stage.client, &loads.fast, None, submit::BATCH).await?;
    loads.fast.tally.wait_until_confirmed().await?;
    let took = begun.elapsed();
    submit(&stage.client, &loads.paced, Some(PACED_RATE), 1).await?;
    loads.paced.tally.wait_until_confirmed().await?;
    stage.stop().await?;
    Ok(Measured {
        jobs_per_s: plan.jobs as f64 / took.as_secs_f64(),
        start_p99_ms: loads.paced.tally.until_started().quantile_ms(0.99),
    })
}

/// And what the broker does alone.
async fn measure_through(plan: Plan<'_>, kind: Kind) -> anyhow::Result<(Measured, f64)> {
    let loads = Loads::new(plan.jobs);
    let mut server = BrokerServer::start(kind, plan.parent).await?;
    let messages = Messages {
        count: usize::try_from(plan.jobs)?,
        bytes: through::job(&loads.fast.tally.id(plan.jobs)).len(),
        batch: through::BATCH,
        calls: through::LANES,
    };
    let raw = raw_rate(&server.settings(Side::Scheduler), messages).await;
    let raw_per_s = raw.context("the broker alone")?;
    server.end(Signal::KILL).await?;
    // A server of its own, so that what was left behind does not count.
    let server = BrokerServer::start(kind, plan.parent).await?;
    let queue = server.config();
    let queue = queue.trim_end_matches('}');
    let config = format!("queue: {queue}, events: {}}}\n", plan.events);
    let (stage, _folder) = loads.stage(plan, &config).await?;
    let measured = through::measure(&loads, &server).await?;
    stage.stop().await?;
    Ok((measured, raw_per_s))
}

impl Loads {
    fn new(jobs: u64) -> Loads {
        let load = |name, jobs| Load::new(name, Shape::Single(jobs), Payload::Json);
        Loads {
            warm_up: load("warm", WARM_UP_JOBS.min(jobs)),
            fast: load("fast", jobs),
            paced: load("paced", PACED_JOBS.min(jobs)),
        }
    }

    /// With the folder of the scheduler, which is removed when it is dropped.
    async fn stage(&self, plan: Plan<'_>, config_text: &str) -> anyhow::Result<(Stage, TempDir)> {
        let folder = tempfile::tempdir_in(plan.parent)?;
        let config = folder.path().join("scheduler.yaml");
        std::fs::write(&config, config_text)?;
        let scheduler = Scheduler::start(&folder.path().join("data"), Some(&config), &[]).await?;
        let loads = [&self.warm_up, &self.fast, &self.paced];
        Ok((Stage::start(scheduler, plan.fleet, &loads).await?, folder))
    }
}
