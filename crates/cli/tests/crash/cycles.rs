//! Killed at random moments, again and again, under load.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use bellwether_testbed::Random;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::lanes;
use crate::load::Load;
use crate::seed::{is_full, seed};
use crate::site::{DEADLINE, Site};

const CYCLES_FULL: usize = 500;
const CYCLES_QUICK: usize = 150;
/// Kills on one data directory before everything is checked.
const LIFE_CYCLES: usize = 25;
const WORKERS: usize = 2;
const BATCH: usize = 10;
/// Batches under way at a time.
const BATCHES_OPEN: usize = 8;
/// Jobs acknowledged, and then a moment, from one kill to the next.
const JOBS_BETWEEN: u64 = 40;
const MICROS_BETWEEN: u64 = 15_000;

#[derive(Debug, Clone, Copy)]
struct Life {
    seed: u64,
    journal: &'static str,
}

#[tokio::test(flavor = "multi_thread")]
async fn random_kills_under_load_lose_nothing() -> Result<()> {
    let cycles = if is_full() { CYCLES_FULL } else { CYCLES_QUICK };
    let mut random = Random(seed());
    let life = |index| {
        let journal = if index % 2 == 0 { "sqlite" } else { "file" };
        Life { seed: random.next(), journal }
    };
    let lives: Vec<Life> = (0..cycles / LIFE_CYCLES).map(life).collect();
    let jobs: Vec<usize> = lanes::each(lives, live).await?;
    eprintln!("{cycles} kills, {} jobs", jobs.iter().sum::<usize>());
    Ok(())
}

async fn live(life: Life) -> Result<usize> {
    let mut random = Random(life.seed);
    let site = Site::new(&[("journal", life.journal)])?;
    let mut scheduler = site.start().await?;
    let load = Load::new(&site)?;
    let workers = load.workers(&site, WORKERS)?;
    let (stop, stopping) = watch::channel(false);
    let mut submitting = tokio::spawn(keep_submitting(load.clone(), stopping));
    let mut acknowledged = load.acknowledged();
    for _ in 0..LIFE_CYCLES {
        let wanted = *acknowledged.borrow() + 1 + random.below(JOBS_BETWEEN) as usize;
        let reached = acknowledged.wait_for(|count| *count >= wanted);
        tokio::select! {
            reached = tokio::time::timeout(DEADLINE, reached) => drop(reached??),
            ended = &mut submitting => bail!("submitting has ended: {:?}", ended?),
        }
        // A moment that has nothing to do with acknowledgements; it must not end by itself in it.
        let moment = Duration::from_micros(random.below(MICROS_BETWEEN));
        let ended = tokio::time::timeout(moment, scheduler.ended()).await;
        ensure!(ended.is_err(), "it ended by itself: {ended:?}");
        scheduler.kill().await?;
        scheduler = site.start().await?;
    }
    stop.send_replace(true);
    let jobs = submitting.await??;
    load.verify(&site).await?;
    workers.into_iter().for_each(|worker| worker.kill());
    scheduler.kill().await?;
    Ok(jobs)
}

/// Submits until told to stop, and follows everything to its end.
async fn keep_submitting(load: Load, stopping: watch::Receiver<bool>) -> Result<usize> {
    let mut open = JoinSet::new();
    let mut jobs = 0;
    while !*stopping.borrow() {
        while open.len() >= BATCHES_OPEN {
            open.join_next().await.expect("some are open")??;
        }
        let load = load.clone();
        open.spawn(async move { load.batch(jobs..jobs + BATCH).await });
        jobs += BATCH;
    }
    while let Some(batch) = open.join_next().await {
        batch??;
    }
    Ok(jobs)
}
