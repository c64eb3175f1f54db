//! Workers that speak only the queue: the examples in Python, and one by hand that errs.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_brokers::{Broker, BrokerError, Channel, Outgoing, Settlement};
use bellwether_sdk::v1;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

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
    let _worker = start_python(&site, script)?;
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

fn start_python(site: &Site, script: &str) -> Result<Child> {
    let port = site.server.port();
    let url = match site.server.kind {
        Kind::Redis => format!("redis://127.0.0.1:{port}/1"),
        kind => format!("{}://127.0.0.1:{port}", kind.name()),
    };
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    let log = std::fs::File::create(site.path("worker.log"))?;
    Command::new(python())
        .arg(format!("{examples}{script}"))
        .args([&url, "kai-job", "python"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("failed to start Python; `cargo xtask setup` makes what it needs")
}

/// A worker whose every word the test says.
struct Hand {
    broker: Arc<dyn Broker>,
    worker: &'static str,
    heard: Vec<Value>,
}

impl Hand {
    fn new(site: &Site, worker: &'static str) -> Result<Hand> {
        Ok(Hand { broker: site.outside_as(worker)?, worker, heard: Vec::new() })
    }

    async fn say(&self, kind: &str, more: Value) -> Result<()> {
        let mut body = json!({"type": kind, "worker": self.worker});
        let fields = body.as_object_mut().context("an object")?;
        fields.extend(more.as_object().cloned().unwrap_or_default());
        let message = Outgoing::new(Channel::Replies, body.to_string());
        eventually("the broker is there", || async {
            match self.broker.publish(vec![message.clone()]).await {
                Ok(()) => Ok(Some(())),
                Err(BrokerError::Lost { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// Says it again until it is answered, as one must where messages can be lost.
    async fn say_until(&mut self, kind: &str, more: Value, answer: &str) -> Result<Value> {
        const PATIENCE: Duration = Duration::from_secs(1);
        loop {
            self.say(kind, more.clone()).await?;
            if let Ok(heard) = tokio::time::timeout(PATIENCE, self.hear(answer)).await {
                return heard;
            }
        }
    }

    /// The next message of a kind; others before it are skipped.
    async fn hear(&mut self, kind: &str) -> Result<Value> {
        loop {
            if let Some(at) = self.heard.iter().position(|message| message["type"] == kind) {
                return self.heard.drain(..=at).next_back().context("it was found");
            }
            let channel = Channel::dispatch(self.worker);
            let next = tokio::time::timeout(DEADLINE, self.broker.receive(&channel, 100));
            let deliveries = next.await.with_context(|| format!("no {kind} has come"))??;
            for delivery in &deliveries {
                self.heard.push(serde_json::from_slice(&delivery.body)?);
            }
            let done = deliveries.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            self.broker.settle(done.collect()).await?;
        }
    }
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
    hand.say("register", json!({"instance": 1, "slots": 1})).await?;
    let welcome = hand.hear("welcome").await?;
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
    hand.say("register", json!({"instance": 1, "slots": 2})).await?;
    hand.hear("welcome").await?;
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
        hand = Hand::new(&site, "w1")?;
    }
    // It does not know yet that the scheduler was away. What it says counts all the same.
    let name = |offer: &Value| offer["spec"]["id"].as_str().unwrap_or_default().to_owned();
    let done = json!({"job": a["job"], "token": a["token"]});
    hand.say_until("complete", done, "reconnect").await?;
    let held = json!([{"job": b["job"], "token": b["token"]}]);
    hand.say("register", json!({"instance": 1, "slots": 2, "held": held})).await?;
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
    hand.say("complete", json!({"jobs": 1, "token": 2})).await?;
    hand.say("register", json!({"instance": 1, "slots": 100_000})).await?;
    ensure!(hand.hear("refused").await?["code"] == "bad_slots");
    hand.say("register", json!({"instance": 1})).await?;
    hand.hear("welcome").await?;
    let (error, _) = dead.next().await?;
    ensure!(error == "jobs: is not known; did you mean job?", "{error}");
    Ok(())
}
