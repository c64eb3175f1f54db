//! Jobs in, executed, events out; and what does not belong in goes to the dead letters.

use anyhow::{Result, ensure};
use bellwether_brokers::{Channel, Outgoing};
use serde_json::json;

use crate::broker_server::Kind;
use crate::listener::{DeadLetters, Listener};
use crate::site::{Site, message};

crate::for_every_backend!(
    jobs_are_executed_and_their_events_come_out,
    the_same_message_twice_is_one_job,
    what_can_not_be_a_job_is_set_aside_and_the_rest_goes_on,
);

async fn jobs_are_executed_and_their_events_come_out(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let (broker, worker) = (site.outside()?, site.worker()?);
    let mut listener = Listener::start(&site).await?;
    let single = json!({"id": "one", "type": "count", "payload": {"n": 1}});
    let run = json!({"run": "both", "jobs": {
        "first": {"type": "count"},
        "second": {"type": "count", "dependencies": ["first"]},
    }});
    broker.publish(vec![message("m-1", &single), message("m-2", &run)]).await?;
    listener.until("job_completed", 3).await?;
    let mut completed = listener.of("bellwether.job_completed");
    completed.sort_unstable();
    ensure!(completed == ["both/first", "both/second", "one"], "{completed:?}");
    ensure!(listener.of("bellwether.job_submitted").len() == 3);
    ensure!(worker.runs().values().all(|runs| *runs == 1), "{worker:?}");
    let submitted = listener.events.iter().find(|event| event["subject"] == "one");
    let spec = submitted.map(|event| event["data"]["spec"].clone()).unwrap_or_default();
    ensure!(spec["payload"] == json!({"n": 1}), "{spec}");
    Ok(())
}

async fn the_same_message_twice_is_one_job(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let (broker, worker) = (site.outside()?, site.worker()?);
    let mut listener = Listener::start(&site).await?;
    let nameless = json!({"type": "count"});
    let named = json!({"id": "named", "type": "count"});
    let keyed = json!({"type": "count", "idempotency_key": "k"});
    broker
        .publish(vec![
            message("a", &nameless),
            message("a", &nameless),
            // Another message about the same job.
            message("b", &named),
            message("c", &named),
            message("d", &keyed),
            message("e", &keyed),
            message("last", &json!({"id": "last", "type": "count"})),
        ])
        .await?;
    listener.until("job_completed", 4).await?;
    worker.has_run(4).await?;
    let backlog = broker.backlog(&Channel::Dead).await?;
    ensure!(backlog.unwrap_or(0) == 0, "{backlog:?}");
    ensure!(listener.of("bellwether.job_submitted").len() == 4, "{:?}", listener.events);
    Ok(())
}

async fn what_can_not_be_a_job_is_set_aside_and_the_rest_goes_on(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let (broker, worker) = (site.outside()?, site.worker()?);
    let mut dead = DeadLetters::start(&site).await?;
    let raw = |body: &'static [u8]| Outgoing::new(Channel::Jobs, body);
    broker
        .publish(vec![
            raw(b"\x00 no json"),
            message("a", &json!({"type": "count", "priorty": "high"})),
            message("b", &json!({"id": "b", "type": "count", "dependencies": ["nobody"]})),
            message("c", &json!({"id": "c", "type": "count"})),
        ])
        .await?;
    worker.has_run(1).await?;
    let mut letters = Vec::new();
    for _ in 0..3 {
        letters.push(dead.next().await?);
    }
    letters.sort_unstable();
    let [unknown_field, no_json, unknown_dependency] = &letters[..] else {
        anyhow::bail!("{letters:?}")
    };
    ensure!(unknown_field.0 == "priorty: is not known; did you mean priority?", "{letters:?}");
    ensure!(unknown_dependency.0.starts_with("unknown_dependency: job b depends on nobody"));
    ensure!(no_json.0.starts_with("this is no JSON"), "{letters:?}");
    ensure!(no_json.1 == b"\x00 no json", "the bytes are kept: {letters:?}");
    Ok(())
}
