//! Schedulers and brokers that are killed under load: nothing lost, nothing twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use bellwether_brokers::{Broker, BrokerError, Channel, Outgoing};
use bellwether_sdk::v1;
use rustix::process::Signal;
use serde_json::json;

use crate::listener::Listener;
use crate::site::{Counter, DEADLINE, Site, eventually, message};
use bellwether_bench::broker_server::Kind;

/// Enough that a kill meets messages in every state.
const JOBS_UNDER_FIRE: usize = 2_000;
/// All of them in a full run; a part shows the same in less time.
const JOBS_THROUGH: usize = 10_000;
const JOBS_THROUGH_QUICK: usize = 2_000;

crate::for_every_backend!(
    a_scheduler_killed_under_load_neither_loses_nor_repeats,
    a_broker_killed_under_load_neither_loses_nor_repeats,
    as_many_executions_as_jobs,
    events_go_on_where_they_were,
);

fn exactly_once(number: usize) -> Outgoing {
    let id = format!("job-{number}");
    message(&id, &json!({"id": id, "type": "count", "guarantee": "exactly_once"}))
}

/// Publishes like a producer who keeps what was not confirmed.
async fn publish(broker: &Arc<dyn Broker>, batch: Vec<Outgoing>) -> Result<()> {
    loop {
        match broker.publish(batch.clone()).await {
            Ok(()) => return Ok(()),
            Err(BrokerError::Lost { .. }) => tokio::task::yield_now().await,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn publish_all(broker: Arc<dyn Broker>, jobs: usize) -> Result<()> {
    for start in (0..jobs).step_by(100) {
        publish(&broker, (start..jobs.min(start + 100)).map(exactly_once).collect()).await?;
    }
    Ok(())
}

/// Publishes for as long as it is let.
async fn publish_on_and_on(broker: Arc<dyn Broker>) -> Result<()> {
    for start in (0..).step_by(100) {
        publish(&broker, (start..start + 100).map(exactly_once).collect()).await?;
    }
    Ok(())
}

fn each_ran_once(counter: &Counter, jobs: usize) -> Result<()> {
    let runs = counter.runs();
    let twice: BTreeMap<_, _> = runs.iter().filter(|(_, runs)| **runs != 1).collect();
    ensure!(twice.is_empty(), "executed more than once: {twice:?}");
    ensure!(runs.len() == jobs, "{} of {jobs} jobs were executed", runs.len());
    Ok(())
}

async fn all_completed(site: &Site, jobs: usize) -> Result<()> {
    let client = site.client()?;
    eventually("all jobs have completed", || async {
        let status = client.status().await?;
        let completed = v1::JobState::Completed as i32;
        let count = status.jobs.iter().find(|count| count.state == completed);
        Ok((count.map_or(0, |count| count.count) >= jobs as u64).then_some(()))
    })
    .await
}

async fn a_scheduler_killed_under_load_neither_loses_nor_repeats(kind: Kind) -> Result<()> {
    let mut site = Site::start(kind).await?;
    let counter = site.worker()?;
    let broker = site.outside()?;
    // At most once: what was in memory is gone with the process, so only who goes on publishing
    // gets any number of jobs through.
    let at_most_once = kind == Kind::ZeroMq;
    let producer = match at_most_once {
        true => tokio::spawn(publish_on_and_on(Arc::clone(&broker))),
        false => tokio::spawn(publish_all(Arc::clone(&broker), JOBS_UNDER_FIRE)),
    };
    for share in 1..=3 {
        counter.has_run(JOBS_UNDER_FIRE * share / 5).await?;
        site.kill_scheduler().await?;
        site.launch().await?;
    }
    if at_most_once {
        counter.has_run(JOBS_UNDER_FIRE).await?;
        producer.abort();
        ensure!(counter.runs().values().all(|runs| *runs == 1), "executed more than once");
        return Ok(());
    }
    tokio::time::timeout(DEADLINE, producer).await???;
    all_completed(&site, JOBS_UNDER_FIRE).await?;
    each_ran_once(&counter, JOBS_UNDER_FIRE)?;
    ensure!(broker.backlog(&Channel::Dead).await?.unwrap_or(0) == 0, "dead letters");
    eventually("every message is acknowledged", || async {
        Ok((broker.backlog(&Channel::Jobs).await?.unwrap_or(0) == 0).then_some(()))
    })
    .await
}

async fn a_broker_killed_under_load_neither_loses_nor_repeats(kind: Kind) -> Result<()> {
    if matches!(kind, Kind::ZeroMq | Kind::Sqlite) {
        // There is no server to kill: the scheduler and the producer are all there is.
        return Ok(());
    }
    let mut site = Site::start(kind).await?;
    if kind == Kind::RabbitMq {
        // One that is killed right after its first stream was made does not find it again: RabbitMQ
        // has not yet written down that it has any.
        site.server.end(Signal::TERM).await?;
        site.server.launch().await?;
    }
    let counter = site.worker()?;
    let broker = site.outside()?;
    let producer = tokio::spawn(publish_all(Arc::clone(&broker), JOBS_UNDER_FIRE));
    for share in 1..=2 {
        counter.has_run(JOBS_UNDER_FIRE * share / 5).await?;
        site.server.end(Signal::KILL).await?;
        site.server.launch().await?;
    }
    tokio::time::timeout(DEADLINE, producer).await???;
    all_completed(&site, JOBS_UNDER_FIRE).await?;
    each_ran_once(&counter, JOBS_UNDER_FIRE)?;
    let mut listener = Listener::start(&site).await?;
    listener.until("job_completed", JOBS_UNDER_FIRE).await
}

async fn as_many_executions_as_jobs(kind: Kind) -> Result<()> {
    let full = std::env::var_os("BELLWETHER_FULL").is_some();
    let jobs = if full { JOBS_THROUGH } else { JOBS_THROUGH_QUICK };
    let site = Site::start(kind).await?;
    let counter = site.worker()?;
    let broker = site.outside()?;
    let mut listener = Listener::start(&site).await?;
    let (published, heard) =
        tokio::join!(publish_all(Arc::clone(&broker), jobs), listener.until("job_completed", jobs));
    published?;
    heard?;
    each_ran_once(&counter, jobs)
}

async fn events_go_on_where_they_were(kind: Kind) -> Result<()> {
    let mut site = Site::start(kind).await?;
    let _worker = site.worker()?;
    let broker = site.outside()?;
    let mut listener = Listener::start(&site).await?;
    publish(&broker, (0..50).map(exactly_once).collect()).await?;
    listener.until("job_completed", 50).await?;
    site.stop_scheduler().await?;
    site.launch().await?;
    if kind == Kind::ZeroMq {
        // Nothing is kept for who is not connected; but who listens hears again.
        return listener.knock(&site).await;
    }
    publish(&broker, (50..100).map(exactly_once).collect()).await?;
    listener.until("job_completed", 100).await?;
    let submitted = listener.of("bellwether.job_submitted").len();
    ensure!(submitted == 100, "{submitted}");
    Ok(())
}
