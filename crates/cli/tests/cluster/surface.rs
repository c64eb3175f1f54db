//! What a follower says to those who come to it.

use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::cluster::{Cluster, DEADLINE, Journal};
use bellwether_sdk::{ClientError, NewJob, v1};
use serde_json::Value;
use tokio::process::Command;

use crate::{binary, few, on_each_journal};

on_each_journal! {
    a_follower_serves_reads_and_names_the_leader: Raft Redis;
    rest_sends_writes_to_the_leader: Raft Redis;
    whoever_leads_signs_checkpoints: Raft Redis;
    the_command_line_shows_the_schedulers_and_lets_another_lead: Raft Redis;
}

async fn a_follower_serves_reads_and_names_the_leader(journal: Journal) -> Result<()> {
    let cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let leader = cluster.leader().await?;
    let follower = (leader + 1) % few(journal);
    let accepted = cluster.client()?.submit(NewJob::new("none").id("j1")).await?;
    // What was acknowledged elsewhere is seen, because its position is waited for.
    let seen = cluster.client_of(follower)?.job("j1", accepted.position).await?;
    ensure!(seen.id() == "j1");
    let refused = cluster.client_of(follower)?.submit(NewJob::new("none")).await;
    let named = match &refused {
        Err(ClientError::NotLeader { leader, .. }) => leader.clone(),
        _ => None,
    };
    ensure!(named.as_deref() == Some(&cluster.address(leader)), "{refused:?}");
    let status = cluster.status(follower).await?;
    ensure!(
        status.role() == v1::SchedulerRole::Follower && status.leader == cluster.address(leader)
    );
    Ok(())
}

async fn rest_sends_writes_to_the_leader(journal: Journal) -> Result<()> {
    let cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let leader = cluster.leader().await?;
    let follower = (leader + 1) % few(journal);
    let url = format!("http://{}/scheduler/jobs", cluster.http(follower));
    let output = Command::new("curl")
        .args(["-sS", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", "-X", "POST"])
        .args([
            "-H",
            &cluster.token_header(follower).await?,
            "-H",
            "content-type: application/json",
        ])
        .args(["-d", r#"{"type": "none"}"#, &url])
        .output()
        .await?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = format!("307 http://{}/scheduler/jobs", cluster.http(leader));
    ensure!(told == wanted, "{told}");
    Ok(())
}

async fn whoever_leads_signs_checkpoints(journal: Journal) -> Result<()> {
    let settings = vec![("BELLWETHER_CHECKPOINTS_EVERY", "50ms".to_owned())];
    let mut cluster = Cluster::start_with(binary(), journal, few(journal), settings).await?;
    let first = cluster.leader().await?;
    let client = cluster.client()?;
    client.submit(NewJob::new("none")).await?;
    checkpoints(&cluster, first).await?;
    cluster.kill(first).await?;
    let second = cluster.leader().await?;
    client.submit(NewJob::new("none")).await?;
    checkpoints(&cluster, second).await?;
    for signer in [first, second] {
        // It exits with 1 if one was not signed by the key that it names.
        let dir = cluster.data_dir(signer).display().to_string();
        cli(&cluster, &["checkpoints", "--data-dir", &dir]).await?;
    }
    Ok(())
}

/// Waits until this scheduler has signed one.
async fn checkpoints(cluster: &Cluster, number: usize) -> Result<()> {
    let file = cluster.data_dir(number).join("checkpoints.jsonl");
    let begun = Instant::now();
    while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
        ensure!(begun.elapsed() < DEADLINE, "{number} leads and signs nothing");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

async fn the_command_line_shows_the_schedulers_and_lets_another_lead(
    journal: Journal,
) -> Result<()> {
    let cluster = Cluster::start(binary(), journal, few(journal)).await?;
    let before = cluster.leader().await?;
    let told = cli(&cluster, &["cluster", "status", "--json"]).await?;
    let told: Vec<Value> = serde_json::from_str(&told)?;
    ensure!(told.len() == few(journal), "{told:?}");
    ensure!(told.iter().all(|one| one["leader"] == cluster.address(before)), "{told:?}");
    let leading = told.iter().filter(|one| one["part"] == "leading").count();
    ensure!(leading == 1, "{told:?}");
    let compared: Value =
        serde_json::from_str(&cli(&cluster, &["cluster", "verify", "--json"]).await?)?;
    ensure!(compared["equal"] == true, "{compared}");
    let told = cli(&cluster, &["status"]).await?;
    ensure!(told.contains("leads    in epoch"), "{told}");
    cli(&cluster, &["cluster", "transfer"]).await?;
    let after = cluster.leader_but(Some(before)).await?;
    ensure!(after != before);
    Ok(())
}

pub(crate) async fn cli(cluster: &Cluster, words: &[&str]) -> Result<String> {
    let output = run(cluster, words).await?;
    let told = String::from_utf8(output.stdout)?;
    let cried = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words:?}: {told}{cried}");
    Ok(told)
}

/// Why it was not done.
pub(crate) async fn refused(cluster: &Cluster, words: &[&str]) -> Result<String> {
    let output = run(cluster, words).await?;
    ensure!(!output.status.success(), "{words:?} is done");
    Ok(String::from_utf8(output.stderr)?)
}

async fn run(cluster: &Cluster, words: &[&str]) -> Result<Output> {
    let mut command = Command::new(binary());
    command.args(words).env("BELLWETHER_SERVER", cluster.addresses());
    command.output().await.context("the binary can be run")
}
