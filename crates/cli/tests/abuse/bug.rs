//! A bug that a request meets ends that request, is counted and logged, and nothing else. Builds for tests
//! have one planted where `BELLWETHER_PLANTED_PANIC` says.

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::NewJob;

use crate::plain_http::{get, post};
use crate::site::Site;

/// How often a panic was contained.
async fn counted(site: &Site) -> Result<u64> {
    let metrics = get(site, "/metrics").await?.body;
    let line =
        metrics.lines().find_map(|line| line.strip_prefix("bellwether_requests_panicked_total "));
    Ok(line.context("it is counted")?.parse()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bug_in_a_request_over_grpc_ends_that_request_alone() -> Result<()> {
    let mut site = Site::new(&[])?;
    site.set_variable("BELLWETHER_PLANTED_PANIC", "ListWorkers");
    let scheduler = site.start().await?;
    let client = site.client()?;
    for round in 1..=3 {
        let error = client.workers(false).await.err().context("it must fail")?;
        ensure!(error.to_string().contains("has met a bug of the scheduler"), "{error}");
        client.submit(NewJob::new("t").id(format!("j{round}"))).await?;
        ensure!(counted(&site).await? == round, "each is counted once");
    }
    scheduler.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bug_in_a_body_over_rest_is_logged_with_its_beginning() -> Result<()> {
    let mut site = Site::new(&[])?;
    site.set_variable("BELLWETHER_PLANTED_PANIC", "poisonous");
    let scheduler = site.start().await?;
    let answer = post(&site, "/scheduler/jobs", br#"{"type":"poisonous","id":"j"}"#).await?;
    ensure!(answer.status == 500, "{answer:?}");
    ensure!(answer.body.contains("has met a bug of the scheduler"), "{answer:?}");
    let answer = post(&site, "/scheduler/jobs", br#"{"type":"harmless","id":"j"}"#).await?;
    ensure!(answer.status == 201, "{answer:?}");
    ensure!(counted(&site).await? == 1);
    scheduler.stop().await?;
    let log = std::fs::read_to_string(site.folder().join("stderr"))?;
    let told = log.lines().find(|line| line.contains("a request is ended by a bug"));
    ensure!(told.context("it is logged")?.contains("poisonous"), "{log}");
    Ok(())
}
