//! Workers that speak only the queue: the examples in Python, and one by hand.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::v1;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::hand::Hand;
use crate::listener::{DeadLetters, Listener};
use crate::site::{DEADLINE, Site, eventually, message, python};
use bellwether_bench::broker_server::Kind;

#[tokio::test]
async fn a_worker_in_python_over_redis_completes_jobs() -> Result<()> {
    python_worker_completes_jobs(Kind::Redis, "redis_worker.py").await
}

#[tokio::test]
async fn a_worker_in_python_over_nats_completes_jobs() -> Result<()> {
    python_worker_completes_jobs(Kind::Nats, "nats_worker.py").await
}

async fn python_worker_completes_jobs(kind: Kind, script: &str) -> Result<()> {
    let mut site = Site::start(kind).await?;
    let broker = site.outside()?;
    let mut listener = Listener::start(&site).await?;
    let _worker = start_python(&site, script, "python")?;
    let job = |id: &str, guarantee: &str| json!({"id": id, "type": "echo", "guarantee": guarantee, "payload": {"of": id}});
    broker
        .publish(vec![
            message("a", &job("a", "at_least_once")),
            message("b", &job("b", "exactly_once")),
            message("c", &job("c", "at_most_once")),
        ])
        .await?;
    listener.until("job_completed", 3).await?;
    let client = site.client()?;
    let done = client.job("b", 0).await?;
    ensure!(done.result() == r#"{"echo": {"of": "b"}}"#, "{done:?}");
    let mut printed =
        client.logs(v1::WatchLogsRequest { id: "b".to_owned(), ..Default::default() });
    let printed = printed.next().await?.context("there is output")?;
    ensure!(printed.pieces.len() == 1 && printed.pieces[0].data == "echoing\n", "{printed:?}");

    // A scheduler that was killed asks the worker to register again, and goes on.
    site.kill_scheduler().await?;
    broker.publish(vec![message("d", &job("d", "exactly_once"))]).await?;
    site.launch().await?;
    listener.until("job_completed", 4).await?;
    Ok(())
}

pub(crate) fn start_python(site: &Site, script: &str, name: &str) -> Result<Child> {
    let port = site.server.port();
    let url = match site.server.kind {
        Kind::Redis => format!("redis://127.0.0.1:{port}/1"),
        kind => format!("{}://127.0.0.1:{port}", kind.name()),
    };
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    let log = std::fs::File::create(site.path(&format!("{name}.log")))?;
    Command::new(python())
        .arg(format!("{examples}{script}"))
        .args([&url, "kai-job", name])
        .arg(site.path(&format!("{name}.key")))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("failed to start Python; `cargo xtask setup` makes what it needs")
}

crate::for_every_backend!(
    a_stale_token_is_refused_and_changes_nothing,
    a_worker_goes_on_after_the_scheduler_was_killed,
    what_a_worker_says_wrongly_is_set_aside,
);

async fn a_stale_token_is_refused_and_changes_nothing(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let broker = site.outside()?;
    let mut hand = Hand::new(&site, "w1")?;
    let welcome = hand.register(json!({"instance": 1, "slots": 1})).await?;
    ensure!(welcome["instance"] == 1, "{welcome}");
    let job = json!({"id": "j", "type": "t", "guarantee": "exactly_once", "payload": [1, 2]});
    broker.publish(vec![message("m", &job)]).await?;
    let offer = hand.hear("offer").await?;
    ensure!(offer["spec"]["payload"] == json!([1, 2]), "{offer}");
    let (job, token) = (&offer["job"], offer["token"].as_u64().context("a token")?);
    let stale = json!({"job": job, "token": token - 1, "result": "stale", "id": "first"});
    hand.say("complete", stale).await?;
    let refused = hand.hear("refused").await?;
    ensure!(refused["code"] == "stale_token" && refused["id"] == "first", "{refused}");
    hand.say("complete", json!({"job": job, "token": token, "result": "too early"})).await?;
    ensure!(hand.hear("refused").await?["code"] == "claim_first");
    hand.say("claim", json!({"job": job, "token": token})).await?;
    hand.hear("grant").await?;
    let done = json!({"job": job, "token": token, "result": "good", "id": "last"});
    hand.say("complete", done).await?;
    ensure!(hand.hear("confirmed").await?["id"] == "last");
    let ended = site.client()?.job("j", 0).await?;
    ensure!(ended.state() == v1::JobState::Completed && ended.result() == "\"good\"", "{ended:?}");
    Ok(())
}

async fn a_worker_goes_on_after_the_scheduler_was_killed(kind: Kind) -> Result<()> {
    let mut site = Site::start(kind).await?;
    let broker = site.outside()?;
    let mut hand = Hand::new(&site, "w1")?;
    hand.register(json!({"instance": 1, "slots": 2})).await?;
    let job = |id: &str| message(id, &json!({"id": id, "type": "t"}));
    broker.publish(vec![job("a"), job("b")]).await?;
    let (a, b) = (hand.hear("offer").await?, hand.hear("offer").await?);
    for offer in [&a, &b] {
        hand.say("acknowledge", json!({"job": offer["job"], "token": offer["token"]})).await?;
    }
    let client = site.client()?;
    eventually("both have started", || async {
        let jobs = [client.job("a", 0).await?, client.job("b", 0).await?];
        Ok(jobs.iter().all(|job| job.state() == v1::JobState::Running).then_some(()))
    })
    .await?;
    site.kill_scheduler().await?;
    site.launch().await?;
    if kind == Kind::ZeroMq {
        // Its connection went with the scheduler.
        hand.connect_again(&site)?;
    }
    // It does not know yet that the scheduler was away. What it says counts all the same.
    let name = |offer: &Value| offer["spec"]["id"].as_str().unwrap_or_default().to_owned();
    let done = json!({"job": a["job"], "token": a["token"]});
    let challenge = hand.say_until("complete", done, "challenge").await?;
    let held = json!([{"job": b["job"], "token": b["token"]}]);
    hand.answer(&challenge, json!({"instance": 1, "slots": 2, "held": held})).await?;
    let welcome = hand.hear("welcome").await?;
    ensure!(welcome["unknown"] == json!([]), "{welcome}");
    hand.say("complete", json!({"job": b["job"], "token": b["token"]})).await?;
    for id in [name(&a), name(&b)] {
        let ended = tokio::time::timeout(DEADLINE, client.wait(&id)).await??;
        ensure!(ended.state() == v1::JobState::Completed, "{ended:?}");
        ensure!(ended.0.attempts.len() <= 1, "{ended:?}");
    }
    Ok(())
}

async fn what_a_worker_says_wrongly_is_set_aside(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let mut dead = DeadLetters::start(&site).await?;
    let mut hand = Hand::new(&site, "w1")?;
    hand.say_plain("complete", json!({"jobs": 1, "token": 2})).await?;
    let challenge = hand.asked().await?;
    hand.answer(&challenge, json!({"instance": 1, "slots": 100_000})).await?;
    ensure!(hand.hear("refused").await?["code"] == "bad_slots");
    hand.register(json!({"instance": 1})).await?;
    let (error, _) = dead.next().await?;
    ensure!(error == "jobs: is not known; did you mean job?", "{error}");
    Ok(())
}
