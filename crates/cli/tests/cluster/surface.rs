//! What a follower says to those who come to it.

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::cluster::Cluster;
use bellwether_sdk::{ClientError, NewJob, v1};
use serde_json::Value;
use tokio::process::Command;

use crate::binary;

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_serves_reads_and_names_the_leader() -> Result<()> {
    let cluster = Cluster::start(binary(), 2).await?;
    let leader = cluster.leader().await?;
    let follower = 1 - leader;
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

#[tokio::test(flavor = "multi_thread")]
async fn rest_sends_writes_to_the_leader() -> Result<()> {
    let cluster = Cluster::start(binary(), 2).await?;
    let leader = cluster.leader().await?;
    let follower = 1 - leader;
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

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_shows_the_schedulers_and_lets_another_lead() -> Result<()> {
    let cluster = Cluster::start(binary(), 2).await?;
    let before = cluster.leader().await?;
    let told = cli(&cluster, &["cluster", "status", "--json"]).await?;
    let told: Vec<Value> = serde_json::from_str(&told)?;
    ensure!(told.len() == 2, "{told:?}");
    ensure!(told.iter().all(|one| one["leader"] == cluster.address(before)), "{told:?}");
    let leading = told.iter().filter(|one| one["part"] == "leading").count();
    ensure!(leading == 1, "{told:?}");
    cli(&cluster, &["cluster", "transfer"]).await?;
    let after = cluster.leader_but(Some(before)).await?;
    ensure!(after != before);
    Ok(())
}

async fn cli(cluster: &Cluster, words: &[&str]) -> Result<String> {
    let output = Command::new(binary())
        .args(words)
        .env("BELLWETHER_SERVER", cluster.addresses())
        .output()
        .await
        .context("the binary can be run")?;
    let told = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success(),
        "{words:?}: {told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(told)
}
