//! What a queue carries out besides the lives of jobs, and what is told of the queue itself.

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::broker_server::Kind;
use bellwether_brokers::{Channel, Outgoing};
use serde_json::{Value, json};

use crate::listener::{DeadLetters, Listener};
use crate::site::{Site, bellwether, eventually, message};

async fn said(site: &Site, arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let output = bellwether()
        .args(arguments)
        .env("BELLWETHER_SERVER", format!("http://{}", site.address))
        .output()
        .await?;
    let told = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8(told)?))
}

#[tokio::test]
async fn checkpoints_go_out_through_a_queue_and_are_what_the_journal_is_held_to() -> Result<()> {
    let mut site = Site::start_with(Kind::Sqlite, "checkpoints: {every: 50ms}").await?;
    let mut listener = Listener::start(&site).await?;
    site.outside()?.publish(vec![message("m", &json!({"id": "j", "type": "t"}))]).await?;
    listener.until("job_submitted", 1).await?;
    listener.until("checkpoint_signed", 1).await?;
    let signed = |event: &&Value| event["type"] == "bellwether.checkpoint_signed";
    let event = listener.events.iter().find(signed).context("one has come")?;
    let (sound, forged) = (site.path("sound.jsonl"), site.path("forged.jsonl"));
    std::fs::write(&sound, format!("{event}\n"))?;
    let mut other = event.clone();
    other["data"]["chain"] = json!("ab".repeat(32));
    std::fs::write(&forged, format!("{other}\n"))?;
    site.stop_scheduler().await?;
    let data = site.path("data").display().to_string();
    for (file, code, says) in [
        (sound, Some(0), "1 checkpoint holds, 0 do not"),
        (forged, Some(1), "0 checkpoints hold, 1 does not"),
    ] {
        let file = file.display().to_string();
        let told = said(&site, &["replay", "--data-dir", &data, "--checkpoints", &file]).await?;
        ensure!(told.0 == code && told.1.contains(says), "{told:?}");
    }
    Ok(())
}

/// A queue with a server of its own, and one in a file.
#[tokio::test]
async fn queues_are_listed_with_what_they_have_brought() -> Result<()> {
    for (kind, name) in [(Kind::Redis, "redis"), (Kind::Sqlite, "sqlite")] {
        let site = Site::start(kind).await?;
        let counter = site.worker()?;
        let mut dead = DeadLetters::start(&site).await?;
        let jobs = (0..3)
            .map(|n| message(format!("m{n}"), &json!({"id": format!("j{n}"), "type": "count"})));
        let nonsense = Outgoing::new(Channel::Jobs, "nonsense");
        site.outside()?.publish(jobs.chain([nonsense]).collect()).await?;
        counter.has_run(3).await?;
        dead.next().await?;
        let listed = eventually("it has been told all", || async {
            let (code, told) = said(&site, &["queues", "--json"]).await?;
            ensure!(code == Some(0), "{told}");
            let queue: Value = serde_json::from_str(&told)?;
            Ok((queue["events_lag"] == 0 && queue["taken"] == 3).then_some(queue))
        });
        let listed = listed.await?;
        ensure!(listed["backend"] == name, "{listed}");
        ensure!(listed["dead_lettered"] == 1 && listed["held"] == 0, "{listed}");
        ensure!(listed["events"].as_u64() > Some(0) && listed["failures"] == 0, "{listed}");
        let (code, table) = said(&site, &["queues"]).await?;
        ensure!(code == Some(0) && table.starts_with("queue"), "{table}");
        let row = table.lines().nth(1).context("a row")?;
        ensure!(row.split_whitespace().skip(1).take(3).eq([name, "3", "1"]), "{table}");
    }
    Ok(())
}
