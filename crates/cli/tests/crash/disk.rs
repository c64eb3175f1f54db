//! A disk that fills up, and gets space again, and one that can only be read.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{Client, NewJob, Outcome, Worker};
use bellwether_testbed::SmallDisk;

use crate::site::{BACKOFF, DEADLINE, Site, eventually};
use crate::tracer::Tracer;

/// More jobs than any of the disks has room for.
const JOBS_MAX: usize = 2_000;

const MEBIBYTE: u64 = 1 << 20;

/// The tables of the history alone take a few MiB.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_work_and_recovers_with_sqlite() -> Result<()> {
    a_full_disk_refuses_work_and_recovers("sqlite", 16, 64).await
}

/// The journal in files reserves 64 MiB at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_work_and_recovers_with_files() -> Result<()> {
    a_full_disk_refuses_work_and_recovers("file", 100, 400).await
}

async fn a_full_disk_refuses_work_and_recovers(
    journal: &str,
    small: u64,
    large: u64,
) -> Result<()> {
    let Some(disk) = SmallDisk::mount(small * MEBIBYTE) else { return Ok(()) };
    let mut site = Site::new(&[("journal", journal)])?;
    site.data_dir = disk.path().join("data");
    let mut scheduler = site.start().await?;
    let client = site.client()?;

    let (acknowledged, error) = fill(&client).await?;
    ensure!(error.code() == Some("disk_full"), "{error}");
    ensure!(error.retry_after().is_some(), "{error:?}");
    ensure!(!acknowledged.is_empty());
    let status = client.status().await?;
    ensure!(status.read_only && status.explanation.contains("full"), "{status:?}");
    all_known(&client, &acknowledged).await?;

    // A restart on the full disk keeps everything, or says what is wrong.
    scheduler.kill().await?;
    match site.launch(&[]).await? {
        crate::site::Start::Serving(again) => {
            all_known(&client, &acknowledged).await?;
            scheduler = again;
        }
        crate::site::Start::Ended { status, stderr } => {
            ensure!(status.code() == Some(3) && stderr.contains("the disk is full"), "{stderr}");
            disk.resize(large * MEBIBYTE);
            scheduler = site.start().await?;
        }
    }

    disk.resize(large * MEBIBYTE);
    eventually("work is taken again", || async {
        Ok(client.submit(NewJob::new("large").id("after")).await.ok())
    })
    .await?;
    let worker = Worker::builder(site.url()).id("w").slots(8).backoff(BACKOFF);
    let worker = worker.job("large", async |_| Outcome::done("")).start()?;
    let everything = acknowledged.iter().cloned().chain(["after".to_owned()]);
    let mut ended = client.follow(everything, false);
    let mut completed = 0;
    while let Some(job) = ended.next().await? {
        ensure!(job.state() == bellwether_sdk::v1::JobState::Completed, "{:?}", job.state());
        completed += 1;
    }
    ensure!(completed == acknowledged.len() + 1);
    worker.kill();
    scheduler.kill().await?;
    let replay = site.replay().await?;
    ensure!(replay.code == Some(0) && replay.report["mismatches"] == 0, "{replay:?}");
    eprintln!("{journal}: {} jobs were acknowledged on {small} MiB", acknowledged.len());
    Ok(())
}

/// As a kernel leaves a file system on which it has found an error.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_once_the_disk_can_only_be_read() -> Result<()> {
    for journal in ["sqlite", "file"] {
        let site = Site::new(&[("journal", journal)])?;
        let mut scheduler = site.start().await?;
        let client = site.client()?;
        client.submit(NewJob::new("small").id("before")).await?;
        let tracer = Tracer::make_read_only(scheduler.id()?, &site).await?;
        let hasty = Client::builder(site.url()).patience(Duration::ZERO).connect().await?;
        let after = hasty.submit(NewJob::new("small").id("after")).await;
        ensure!(after.is_err(), "{journal}: {after:?}");
        let status = tokio::time::timeout(DEADLINE, scheduler.ended()).await??;
        ensure!(status.code() == Some(74), "{journal}: {status}");
        tracer.ended().await?;
        // Where it can be written again, everything is there, and maybe what was not acknowledged.
        let scheduler = site.start().await?;
        all_known(&client, &["before".to_owned()]).await?;
        client.submit(NewJob::new("small").id("again")).await?;
        scheduler.kill().await?;
        let replay = site.replay().await?;
        ensure!(replay.code == Some(0) && replay.report["mismatches"] == 0, "{replay:?}");
    }
    Ok(())
}

/// Submits until it is refused.
async fn fill(client: &Client) -> Result<(Vec<String>, bellwether_sdk::ClientError)> {
    let mut acknowledged = Vec::new();
    for index in 0..JOBS_MAX {
        let job = NewJob::new("large").id(format!("large-{index}"));
        match client.submit(job.payload(vec![0x5a; 256 << 10])).await {
            Ok(accepted) => acknowledged.push(accepted.id().to_owned()),
            Err(error) => return Ok((acknowledged, error)),
        }
    }
    anyhow::bail!("{JOBS_MAX} jobs of 256 KiB did not fill the disk")
}

async fn all_known(client: &Client, ids: &[String]) -> Result<()> {
    for id in ids {
        client.job(id, 0).await.with_context(|| format!("{id} is lost"))?;
    }
    Ok(())
}
