//! A scheduler, one of its clients, and workers in this process that do nothing with their jobs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::worker::key::generate;
use bellwether_sdk::{Client, Context, Outcome, Worker};
use tempfile::TempDir;

use crate::load::{Load, TYPE, Tally};
use crate::scheduler::Scheduler;

const POLL: Duration = Duration::from_millis(5);
/// To look takes long where there are many workers: it is done for a tenth of the time.
const POLL_TIMES: u32 = 10;
/// One look that took long must not make the next one wait for most of a minute.
const POLL_MAX: Duration = Duration::from_millis(500);
/// Workers that are started at a time, and how long they may take to register.
const STARTED_AT_A_TIME: u32 = 500;
const KNOWN_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleet {
    pub(crate) workers: u32,
    pub(crate) slots: u32,
    /// Workers prove who they are.
    pub(crate) keys: bool,
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
        let mut stage = Stage { scheduler, client, workers: Vec::new() };
        for first in (0..fleet.workers).step_by(STARTED_AT_A_TIME as usize) {
            for number in first..(first + STARTED_AT_A_TIME).min(fleet.workers) {
                let address = stage.scheduler.address();
                stage.workers.push(start_worker(address, number, fleet, &tallies)?);
            }
            tokio::time::timeout(KNOWN_WITHIN, stage.all_known())
                .await
                .context("the workers did not register in time")??;
        }
        Ok(stage)
    }

    async fn all_known(&self) -> anyhow::Result<()> {
        loop {
            let begun = Instant::now();
            let workers = self.client.workers(false).await?;
            let connected = workers.into_iter().filter(|worker| worker.connected);
            let known: BTreeSet<String> =
                connected.filter_map(|worker| Some(worker.spec?.id)).collect();
            if self.workers.iter().all(|ours| known.contains(ours.id())) {
                return Ok(());
            }
            tokio::time::sleep((begun.elapsed() * POLL_TIMES).clamp(POLL, POLL_MAX)).await;
        }
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.workers.iter().for_each(RunningWorker::leave);
        // Before they have all said goodbye, which takes long where they are many.
        self.scheduler.stop().await?;
        for mut worker in self.workers {
            worker.ended().await?;
        }
        Ok(())
    }
}

fn start_worker(
    address: &str,
    number: u32,
    fleet: Fleet,
    tallies: &[Arc<Tally>],
) -> anyhow::Result<RunningWorker> {
    let (starts, ends) = (tallies.to_vec(), tallies.to_vec());
    let handler = move |context: Context| {
        starts.iter().for_each(|tally| tally.started(context.id()));
        std::future::ready(Outcome::done(""))
    };
    let worker = Worker::builder(address)
        .id(format!("bench-{}-{number}", std::process::id()))
        .slots(fleet.slots)
        .job(TYPE, handler)
        .on_confirmed(move |context| {
            ends.iter().for_each(|tally| tally.confirmed(context.id()));
        });
    let worker = if fleet.keys { worker.key(generate()) } else { worker.without_key() };
    Ok(worker.start()?)
}
