//! More than fits.

use anyhow::{Result, ensure};
use bellwether_sdk::{NewJob, Outcome, Worker};
use tokio::task::JoinSet;

use crate::memory;
use crate::site::{BACKOFF, Site, eventually};

/// Jobs that may be unfinished, as configured.
const CAPACITY: usize = 4_000;
/// The flood is so many times as large.
const TIMES: usize = 5;
const SUBMITTERS: usize = 8;
const BATCH: usize = 250;
const PAYLOAD_BYTES: usize = 4_096;

fn jobs(submitter: usize, round: usize) -> Vec<NewJob> {
    let job = |index| {
        let id = format!("f-{submitter}-{round}-{index}");
        NewJob::new("work").id(&id).idempotency_key(&id).payload(vec![7; PAYLOAD_BYTES])
    };
    (0..BATCH).map(job).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_five_times_the_capacity_is_refused_beyond_it() -> Result<()> {
    let site = Site::new(&[("jobs_max", &CAPACITY.to_string()), ("retain_jobs", "1000")])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    client.status().await?;
    let before = memory::now(&scheduler)?;
    let rounds = CAPACITY * TIMES / SUBMITTERS / BATCH;
    let mut submitters = JoinSet::new();
    for submitter in 0..SUBMITTERS {
        let client = site.client()?;
        submitters.spawn(async move {
            let (mut taken, mut refused, mut throttled) = (Vec::new(), Vec::new(), 0);
            for round in 0..rounds {
                let batch = jobs(submitter, round);
                for (job, result) in batch.iter().zip(client.submit_many(batch.clone()).await?) {
                    match result {
                        Ok(accepted) => {
                            throttled += usize::from(accepted.throttle.is_some());
                            taken.push(accepted.id().to_owned());
                        }
                        Err(refusal) => {
                            ensure!(refusal.code == "queue_full", "{refusal}");
                            ensure!(refusal.retry_after.is_some(), "{refusal}");
                            refused.push(job.clone());
                        }
                    }
                }
            }
            Ok((taken, refused, throttled))
        });
    }
    let (mut taken, mut refused, mut throttled) = (Vec::new(), Vec::new(), 0);
    while let Some(submitter) = submitters.join_next().await {
        let (more_taken, more_refused, more_throttled) = submitter??;
        taken.extend(more_taken);
        refused.extend(more_refused);
        throttled += more_throttled;
    }
    let filled = CAPACITY * 95 / 100;
    ensure!((filled..=CAPACITY).contains(&taken.len()), "{} were taken", taken.len());
    ensure!(taken.len() + refused.len() == CAPACITY * TIMES);
    ensure!(throttled > 0, "nobody was asked to pause before");
    let grown = memory::peak(&scheduler)?.saturating_sub(before);
    eprintln!("{} taken, {} refused, {} KiB more memory", taken.len(), refused.len(), grown >> 10);
    ensure!(grown < 192 << 20, "{grown} bytes more");
    let status = client.status().await?;
    ensure!(status.filled_percent >= 95, "{status:?}");

    // Nothing that was taken is lost, and who was refused gets in as room is made.
    let worker = Worker::builder(site.url()).id("w").slots(64).backoff(BACKOFF);
    let worker = worker.job("work", async |_| Outcome::done("done")).start()?;
    let mut ended = client.follow(taken.iter().cloned(), false);
    let mut done = 0;
    while let Some(job) = ended.next().await? {
        ensure!(job.result() == "done", "{job:?}");
        done += 1;
    }
    ensure!(done == taken.len());
    for job in refused.into_iter().step_by(100) {
        let accepted = eventually("there is room again", || async {
            match client.submit(job.clone()).await {
                Ok(accepted) => Ok(Some(accepted)),
                Err(error) if error.code() == Some("queue_full") => Ok(None),
                Err(error) => Err(error.into()),
            }
        });
        let accepted = accepted.await?;
        ensure!(client.wait(accepted.id()).await?.result() == "done");
    }
    worker.kill();
    scheduler.stop().await
}
