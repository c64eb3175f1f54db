//! Jobs in, executed, events out; and what does not belong in goes to the dead letters.

use anyhow::{Result, ensure};
use bellwether_brokers::{Channel, Outgoing};
use serde_json::json;

use crate::listener::{DeadLetters, Listener};
use crate::site::{Site, eventually, message};
use bellwether_bench::broker_server::Kind;

crate::for_every_backend!(
    jobs_are_executed_and_their_events_come_out,
    the_same_message_twice_is_one_job,
    what_can_not_be_a_job_is_set_aside_and_the_rest_goes_on,
    a_full_scheduler_leaves_the_rest_in_the_queue_and_loses_nothing,
    the_priority_of_a_message_is_that_of_its_job,
    a_job_may_come_before_what_it_depends_on,
);

async fn a_job_may_come_before_what_it_depends_on(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let (broker, worker) = (site.outside()?, site.worker()?);
    let late = json!({"id": "late", "type": "count"});
    let early = json!({"id": "early", "type": "count", "dependencies": ["late"]});
    let other = json!({"id": "other", "type": "count"});
    broker.publish(vec![message("m-1", &early), message("m-2", &other)]).await?;
    // Nothing else waits for it.
    worker.has_run(1).await?;
    broker.publish(vec![message("m-3", &late)]).await?;
    worker.has_run(3).await?;
    let backlog = broker.backlog(&Channel::Dead).await?;
    ensure!(backlog.unwrap_or(0) == 0, "{backlog:?}");
    Ok(())
}

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
    let names: Vec<&str> =
        completed.iter().map(|id| id.rsplit_once('/').map_or(&**id, |(_, name)| name)).collect();
    ensure!(names == ["first", "second", "one"], "{completed:?}");
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

async fn a_full_scheduler_leaves_the_rest_in_the_queue_and_loses_nothing(kind: Kind) -> Result<()> {
    const JOBS: usize = 300;
    const ROOM: u64 = 20;
    let more = format!("jobs_max: {ROOM}\nreject_threshold: 100");
    let mut site = Site::start_with(kind, &more).await?;
    let (broker, client) = (site.outside()?, site.client()?);
    let jobs = (0..JOBS).map(|number| {
        let id = format!("job-{number}");
        message(&id, &json!({"id": id, "type": "count"}))
    });
    broker.publish(jobs.collect()).await?;
    eventually("it is full", || async {
        let live: u64 = client.status().await?.jobs.iter().map(|count| count.count).sum();
        ensure!(live <= ROOM, "{live} jobs are in room for {ROOM}");
        Ok((live == ROOM).then_some(()))
    })
    .await?;
    // Had it taken more out of the queue than it has room for, that would be gone now. ZeroMQ keeps
    // nothing: there it goes on holding what it has.
    if kind != Kind::ZeroMq {
        site.kill_scheduler().await?;
        site.launch().await?;
    }
    let worker = site.worker()?;
    worker.has_run(JOBS).await?;
    ensure!(worker.runs().values().all(|runs| *runs == 1), "{worker:?}");
    ensure!(broker.backlog(&Channel::Dead).await?.unwrap_or(0) == 0, "dead letters");
    Ok(())
}

async fn the_priority_of_a_message_is_that_of_its_job(kind: Kind) -> Result<()> {
    let site = Site::start(kind).await?;
    let broker = site.outside()?;
    let mut listener = Listener::start(&site).await?;
    let urgent = |id: &str, body| Outgoing { priority: Some(100), ..message(id, &body) };
    broker
        .publish(vec![
            urgent("silent", json!({"id": "silent", "type": "count"})),
            urgent("own", json!({"id": "own", "type": "count", "priority": "low"})),
        ])
        .await?;
    listener.until("job_submitted", 2).await?;
    let priority = |id: &str| {
        let submitted = listener.events.iter().find(|event| event["subject"] == id);
        submitted.map(|event| event["data"]["spec"]["priority"].clone()).unwrap_or_default()
    };
    // The others have no priorities of their own.
    let carried = matches!(kind, Kind::RabbitMq | Kind::Sqlite);
    let expected = if carried { "critical" } else { "normal" };
    ensure!(priority("silent") == expected, "{:?}", listener.events);
    ensure!(priority("own") == "low", "the job's own goes first: {:?}", listener.events);
    Ok(())
}
