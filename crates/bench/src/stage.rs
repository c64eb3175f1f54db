//! A scheduler, one of its clients, and workers in this process that do nothing with their jobs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, Outcome, Worker};
use tempfile::TempDir;

use crate::load::{Load, TYPE, Tally};
use crate::scheduler::Scheduler;

const POLL: Duration = Duration::from_millis(5);
const KNOWN_WITHIN: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleet {
    pub(crate) workers: u32,
    pub(crate) slots: u32,
}

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) scheduler: Scheduler,
    pub(crate) client: Client,
    workers: Vec<RunningWorker>,
}

/// A folder for data on the disk that is meant, removed when it is dropped.
pub(crate) fn folder_in(parent: Option<&Path>) -> anyhow::Result<TempDir> {
    let parent = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    tempfile::Builder::new()
        .prefix(".bellwether-bench-")
        .tempdir_in(parent)
        .with_context(|| format!("failed to make a folder in {}", parent.display()))
}

impl Stage {
    /// The workers tell the tallies of these loads what happens to their jobs.
    pub(crate) async fn start(
        scheduler: Scheduler,
        fleet: Fleet,
        loads: &[&Load],
    ) -> anyhow::Result<Stage> {
        let tallies: Vec<_> = loads.iter().map(|load| Arc::clone(&load.tally)).collect();
        let client = Client::connect(scheduler.address()).await?;
        let worker = |number| start_worker(scheduler.address(), number, fleet.slots, &tallies);
        let workers = (0..fleet.workers).map(worker).collect::<anyhow::Result<_>>()?;
        let stage = Stage { scheduler, client, workers };
        tokio::time::timeout(KNOWN_WITHIN, stage.all_known())
            .await
            .context("the workers did not register in time")??;
        Ok(stage)
    }

    async fn all_known(&self) -> anyhow::Result<()> {
        loop {
            let workers = self.client.workers(false).await?;
            let is_known = |ours: &RunningWorker| {
                workers.iter().any(|known| {
                    known.connected && known.spec.as_ref().is_some_and(|s| s.id == ours.id())
                })
            };
            if self.workers.iter().all(is_known) {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
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
    tallies: &[Arc<Tally>],
) -> anyhow::Result<RunningWorker> {
    let (starts, ends) = (tallies.to_vec(), tallies.to_vec());
    let handler = move |context: Context| {
        starts.iter().for_each(|tally| tally.started(context.id()));
        std::future::ready(Outcome::done(""))
    };
    let worker = Worker::builder(address)
        .id(format!("bench-{}-{number}", std::process::id()))
        .slots(slots)
        .job(TYPE, handler)
        .on_confirmed(move |context| {
            ends.iter().for_each(|tally| tally.confirmed(context.id()));
        })
        .start()?;
    Ok(worker)
}
