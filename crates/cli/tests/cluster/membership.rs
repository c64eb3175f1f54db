//! Members come, go and are replaced while jobs run.

use anyhow::{Result, ensure};
use bellwether_bench::cluster::{Cluster, Journal};
use bellwether_sdk::{NewJob, v1};
use tokio::process::Command;

use crate::load::Load;
use crate::surface::{cli, refused};
use crate::{binary, rounds};

const WORKERS: usize = 2;
const BETWEEN: usize = 60;
/// Jobs in one call.
const AT_ONCE: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_member_whose_disk_is_lost_is_replaced_while_jobs_run() -> Result<()> {
    let mut cluster = Cluster::start(binary(), Journal::Raft, 3).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    load.more(BETWEEN).await?;
    let lost = (cluster.leader().await? + 1) % 3;
    let number = cluster.member(lost).await?.to_string();
    cluster.kill(lost).await?;
    cluster.wipe(lost)?;
    // It neither comes back under its number nor begins a cluster of its own.
    let words = cluster.launch(lost).await.unwrap_err().to_string();
    ensure!(words.contains("belongs to no cluster"), "{words}");
    cli(&cluster, &["cluster", "remove", &number]).await?;
    let new = cluster.add().await?;
    cluster.until_votes(3).await?;
    ensure!(cluster.member(new).await? == 4, "numbers are given once");
    load.more(BETWEEN).await?;
    // Both of the others that were there can go now, one after the other.
    let leader = cluster.leader().await?;
    cluster.kill(leader).await?;
    load.more(BETWEEN).await?;
    load.stop();
    running.await??;
    load.verify().await?;
    cluster.agree().await?;
    Ok(())
}

/// Jobs that wait while others join, for a worker that never comes.
const WAITING_TYPE: &str = "waits";

#[tokio::test(flavor = "multi_thread")]
async fn others_join_one_that_has_many_jobs_while_jobs_run() -> Result<()> {
    let waiting = rounds(20_000, 1_000_000);
    let mut cluster = Cluster::start(binary(), Journal::Raft, 1).await?;
    let client = cluster.client()?;
    let mut submitted = 0;
    while submitted < waiting {
        let batch = (submitted..waiting).take(AT_ONCE).map(|_| NewJob::new(WAITING_TYPE));
        for result in client.submit_many(batch).await? {
            result?;
            submitted += 1;
        }
    }
    // What lies before the first is forgotten with the second: whoever joins gets the state itself.
    client.save_snapshot().await?;
    client.submit(NewJob::new(WAITING_TYPE)).await?;
    client.save_snapshot().await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    for _ in 0..2 {
        load.more(BETWEEN).await?;
        cluster.add().await?;
    }
    cluster.until_votes(3).await?;
    load.more(BETWEEN).await?;
    load.stop();
    running.await??;
    load.verify().await?;
    cluster.agree().await?;
    for number in cluster.living() {
        let jobs = cluster.status(number).await?.jobs;
        let ready = jobs.iter().find(|count| count.state() == v1::JobState::Ready);
        let ready = ready.map_or(0, |ready| ready.count);
        ensure!(ready == waiting as u64 + 1, "{number} has {ready} of {waiting} that wait");
    }
    for joined in [1, 2] {
        let words = cluster.words(joined)?;
        ensure!(words.contains("the state is taken over from another scheduler"), "{words}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_would_end_the_majority_is_refused() -> Result<()> {
    let mut cluster = Cluster::start(binary(), Journal::Raft, 3).await?;
    let leader = cluster.leader().await?;
    let (first, second) = ((leader + 1) % 3, (leader + 2) % 3);
    let of_leader = cluster.member(leader).await?.to_string();
    let (gone, stays) = (cluster.member(first).await?, cluster.member(second).await?.to_string());
    let words = refused(&cluster, &["cluster", "remove", &of_leader]).await?;
    ensure!(words.contains("leads; let another lead first"), "{words}");
    let words = refused(&cluster, &["cluster", "remove", "9"]).await?;
    ensure!(words.contains("there is no member 9"), "{words}");
    cluster.kill(first).await?;
    let words = refused(&cluster, &["cluster", "remove", &stays]).await?;
    ensure!(words.contains("no majority"), "{words}");
    cli(&cluster, &["cluster", "remove", &gone.to_string()]).await?;
    cluster.until_votes(2).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn members_listen_off_loopback_only_with_certificates() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (address, why) in [
        ("0.0.0.0:0", "can be reached from elsewhere, and cluster.ca is missing"),
        ("192.0.2.1:7072", "can be reached from elsewhere, and cluster.ca is missing"),
    ] {
        let output = Command::new(binary())
            .args(["cluster", "init", "--peers", address, "--data-dir"])
            .arg(folder.path().join("data"))
            .env("BELLWETHER_JOURNAL", "raft")
            .output()
            .await?;
        let words = String::from_utf8(output.stderr)?;
        ensure!(!output.status.success() && words.contains(why), "{address}: {words}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_joins_with_another_token() -> Result<()> {
    let cluster = Cluster::start(binary(), Journal::Raft, 1).await?;
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    bellwether_testbed::write_secret(&token, "a guess\n")?;
    let output = Command::new(binary())
        .args(["cluster", "join", &cluster.peers(0).to_string(), "--peers", "127.0.0.1:1"])
        .arg("--cluster-token")
        .arg(&token)
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .env("BELLWETHER_JOURNAL", "raft")
        .output()
        .await?;
    let words = String::from_utf8(output.stderr)?;
    ensure!(!output.status.success() && words.contains("another token"), "{words}");
    Ok(())
}
