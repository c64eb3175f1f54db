//! The leader goes, in every way that there is.

use std::time::Duration;

use anyhow::{Result, ensure};
use bellwether_bench::cluster::{Cluster, Journal};
use bellwether_sdk::{ClientError, NewJob, v1};
use rustix::process::Signal;

use crate::load::Load;
use crate::{binary, few, on_each_journal, rounds};

const WORKERS: usize = 3;
/// Longer than the lease of members that agree among themselves.
const STARVED: Duration = Duration::from_millis(250);
/// Jobs that are taken between two faults.
const BETWEEN: usize = 90;

/// Those who keep the journal themselves have most to show.
fn many(journal: Journal, with_raft: usize) -> usize {
    match journal {
        Journal::Raft => with_raft,
        Journal::Redis | Journal::Postgres | Journal::ZooKeeper => 50,
    }
}

on_each_journal! {
    nothing_is_lost_or_done_twice_when_leaders_are_killed: Raft Redis Postgres ZooKeeper;
    a_server_that_is_killed_has_lost_nothing: Redis Postgres;
    a_leader_that_was_stopped_past_its_lease_tells_nothing: Raft Redis;
    members_that_hardly_get_to_run_lose_nothing_and_recover: Raft Redis;
    one_that_is_told_to_end_lets_another_lead_first: Raft Redis;
    settings_and_the_name_of_the_cluster_outlive_their_leader: Raft Redis;
}

async fn nothing_is_lost_or_done_twice_when_leaders_are_killed(journal: Journal) -> Result<()> {
    let mut cluster = Cluster::start(binary(), journal, 3).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    for _ in 0..rounds(3, many(journal, 300)) {
        load.more(BETWEEN).await?;
        let leader = cluster.leader().await?;
        cluster.kill(leader).await?;
        load.more(BETWEEN).await?;
        cluster.launch(leader).await?;
    }
    load.stop();
    running.await??;
    let jobs = load.verify().await?;
    ensure!(jobs >= BETWEEN, "only {jobs} jobs");
    cluster.agree().await?;
    Ok(())
}

/// The one that the schedulers share: whatever it has acknowledged is there when it is back.
async fn a_server_that_is_killed_has_lost_nothing(journal: Journal) -> Result<()> {
    let mut cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    for _ in 0..rounds(2, 20) {
        load.more(BETWEEN).await?;
        cluster.restart_shared()?;
    }
    load.more(BETWEEN).await?;
    load.stop();
    running.await??;
    load.verify().await?;
    cluster.agree().await?;
    Ok(())
}

async fn a_leader_that_was_stopped_past_its_lease_tells_nothing(journal: Journal) -> Result<()> {
    let cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    for _ in 0..rounds(2, many(journal, 100)) {
        load.more(BETWEEN).await?;
        let old = cluster.leader().await?;
        let stale = cluster.client_of(old)?;
        stale.status().await?;
        cluster.signal(old, Signal::STOP)?;
        // What it is asked now lies in its socket until it goes on.
        let asked = tokio::spawn(async move { stale.submit(NewJob::new("late")).await });
        let new = cluster.leader_but(Some(old)).await?;
        load.more(BETWEEN).await?;
        cluster.signal(old, Signal::CONT)?;
        let answer = asked.await?;
        let silent =
            matches!(&answer, Err(ClientError::NotLeader { .. } | ClientError::Unreachable { .. }));
        ensure!(silent, "{old} was deposed by {new} and answers {answer:?}");
    }
    load.stop();
    running.await??;
    load.verify().await?;
    cluster.agree().await?;
    Ok(())
}

/// As on a machine that has no processor left: none of them runs for as long as a lease lasts, except for a moment
/// now and then. Whoever leads loses it again and again, at any point of what it does.
async fn members_that_hardly_get_to_run_lose_nothing_and_recover(journal: Journal) -> Result<()> {
    let cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    load.more(BETWEEN).await?;
    for round in 0..rounds(16, 200) {
        cluster.living().try_for_each(|member| cluster.signal(member, Signal::STOP))?;
        tokio::time::sleep(STARVED).await;
        cluster.living().try_for_each(|member| cluster.signal(member, Signal::CONT))?;
        // Now just enough to ask for votes, now enough to begin a reign.
        tokio::time::sleep(STARVED / 10 * (1 + u32::try_from(round % 8)?)).await;
    }
    load.more(BETWEEN).await?;
    load.stop();
    running.await??;
    load.verify().await?;
    cluster.agree().await?;
    Ok(())
}

async fn one_that_is_told_to_end_lets_another_lead_first(journal: Journal) -> Result<()> {
    let mut cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    for _ in 0..rounds(2, 20) {
        load.more(BETWEEN).await?;
        let leader = cluster.leader().await?;
        cluster.terminate(leader).await?;
        ensure!(cluster.leader().await? != leader);
        load.more(BETWEEN).await?;
        cluster.launch(leader).await?;
    }
    load.stop();
    running.await??;
    load.verify().await?;
    cluster.agree().await?;
    Ok(())
}

async fn settings_and_the_name_of_the_cluster_outlive_their_leader(journal: Journal) -> Result<()> {
    let mut cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let client = cluster.client()?;
    let first = cluster.leader().await?;
    let before = client.config().await?.config.unwrap_or_default();
    let wanted = before.prefetch + 3;
    let config = Some(v1::Config { prefetch: wanted, ..before });
    client.set_config(v1::SetConfigRequest { config, expected_version: 0 }).await?;
    let name = cluster.name(first).await?;
    cluster.kill(first).await?;
    let second = cluster.leader().await?;
    let after = client.config().await?.config.unwrap_or_default();
    ensure!(after.prefetch == wanted, "{after:?}");
    ensure!(cluster.name(second).await? == name && !name.is_empty(), "{name}");
    Ok(())
}
