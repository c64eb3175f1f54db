//! A scheduler, with a queue in front or without, and workers that do nothing with their jobs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, Outcome, Worker};

use super::super::server::child::Scheduler;
use super::Scale;
use super::tally::Tally;

pub(super) const TYPE: &str = "noop";
const POLL: Duration = Duration::from_millis(5);
const KNOWN_WITHIN: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) client: Client,
    /// Connections are open and durations known before the measurement begins.
    pub(super) warm_up: Arc<Tally>,
    pub(super) fast: Arc<Tally>,
    pub(super) paced: Arc<Tally>,
    workers: Vec<RunningWorker>,
    scheduler: Scheduler,
    /// Kept, because it is removed when it is dropped.
    _folder: tempfile::TempDir,
}

const WARM_UP_JOBS: u64 = 2_000;

impl Stage {
    pub(super) async fn start(
        parent: &Path,
        config_text: &str,
        scale: Scale,
    ) -> anyhow::Result<Stage> {
        let folder = tempfile::Builder::new().prefix(".bellwether-bench-").tempdir_in(parent)?;
        let config = folder.path().join("scheduler.yaml");
        std::fs::write(&config, config_text)?;
        let scheduler = Scheduler::start(&folder.path().join("data"), Some(&config), &[]).await?;
        let client = Client::connect(scheduler.address()).await?;
        let warm_up = Arc::new(Tally::new("warm", WARM_UP_JOBS.min(scale.jobs)));
        let fast = Arc::new(Tally::new("fast", scale.jobs));
        let paced = Arc::new(Tally::new("paced", scale.paced_jobs));
        let tallies = [&warm_up, &fast, &paced].map(Arc::clone);
        let worker = |number| start_worker(scheduler.address(), number, scale.slots, &tallies);
        let workers = (0..scale.workers).map(worker).collect::<anyhow::Result<Vec<_>>>()?;
        let stage = Stage { client, warm_up, fast, paced, workers, scheduler, _folder: folder };
        tokio::time::timeout(KNOWN_WITHIN, stage.all_known()).await??;
        Ok(stage)
    }

    async fn all_known(&self) -> anyhow::Result<()> {
        loop {
            let known = self.client.workers(false).await?;
            if known.iter().filter(|worker| worker.connected).count() == self.workers.len() {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        for mut worker in self.workers {
            worker.leave();
            worker.ended().await?;
        }
        self.scheduler.stop().await
    }
}

fn start_worker(
    address: &str,
    number: u32,
    slots: u32,
    tallies: &[Arc<Tally>; 3],
) -> anyhow::Result<RunningWorker> {
    let (starts, ends) = (tallies.clone(), tallies.clone());
    let handler = move |context: Context| {
        for tally in &starts {
            tally.started(context.id());
        }
        std::future::ready(Outcome::done(""))
    };
    let worker = Worker::builder(address)
        .id(format!("bench-{}-{number}", std::process::id()))
        .slots(slots)
        .job(TYPE, handler)
        .on_confirmed(move |context| {
            for tally in &ends {
                tally.confirmed(context.id());
            }
        })
        .start()?;
    Ok(worker)
}
