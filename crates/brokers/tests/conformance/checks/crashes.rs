//! The server dies, or stands still.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bellwether_brokers::{Broker, BrokerError, Channel, Delivery, Settlement};

use super::Outcome;
use crate::random::Random;
use crate::stage::{
    REDELIVER_AFTER, Stage, at_most_once, backlog_becomes, bodies, in_time, message, messages,
    numbers, publish, receive, settle,
};

const LOAD: usize = 3000;
const BATCH: usize = 50;
const LOAD_DEADLINE: Duration = Duration::from_secs(90);

pub(crate) async fn paused_broker_is_waited_for(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    if at_most_once(&scheduler) {
        let mut sending = tokio::spawn(async move {
            publish(&producer, vec![message(&Channel::Jobs, "early")]).await.map(|()| producer)
        });
        let early = tokio::time::timeout(Duration::from_millis(300), &mut sending).await;
        ensure!(early.is_err(), "sent to nobody");
        let got = receive(&scheduler, &Channel::Jobs, 1).await?;
        ensure!(bodies(&got) == ["early"], "got {:?}", bodies(&got));
        sending.await??;
        return Ok(Outcome::Weaker("no broker to pause: the sender waits for the scheduler"));
    }
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, vec![message(&Channel::Jobs, "before")]).await?;
    let got = receive(&scheduler, &Channel::Jobs, 1).await?;
    settle(&scheduler, got).await?;
    let pause = stage.bed.pause()?;
    let sending = tokio::spawn(async move {
        publish(&producer, vec![message(&Channel::Jobs, "during")]).await.map(|()| producer)
    });
    let early =
        tokio::time::timeout(Duration::from_millis(500), scheduler.receive(&Channel::Jobs, 1));
    ensure!(early.await.is_err(), "received from a server that stands still");
    ensure!(!sending.is_finished(), "confirmed by a server that stands still");
    drop(pause);
    let got = receive(&scheduler, &Channel::Jobs, 1).await?;
    ensure!(bodies(&got) == ["during"], "got {:?}", bodies(&got));
    sending.await??;
    settle(&scheduler, got).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn confirmed_survives_a_crash(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let to_worker = Channel::dispatch("worker-1");
    if at_most_once(&scheduler) {
        publish(&producer, messages(&Channel::Jobs, 0..10)).await?;
        drop((scheduler, producer));
        let (next, producer) = (scene.scheduler()?, scene.outside("producer")?);
        in_time("check", async { Ok(next.check().await) }).await?;
        publish(&producer, vec![message(&Channel::Jobs, "after")]).await?;
        let got = receive(&next, &Channel::Jobs, 1).await?;
        ensure!(bodies(&got) == ["after"], "kept by whom? {:?}", bodies(&got));
        return Ok(Outcome::Weaker(
            "what was not received is lost with the process, and only that",
        ));
    }
    publish(&producer, messages(&Channel::Jobs, 0..100)).await?;
    publish(&scheduler, messages(&to_worker, 0..10)).await?;
    publish(&scheduler, messages(&Channel::Events, 0..10)).await?;
    stage.bed.crash()?;
    let got = receive(&scheduler, &Channel::Jobs, 100).await?;
    ensure!(bodies(&got) == numbers(0..100), "jobs: {:?}", bodies(&got));
    settle(&scheduler, got).await?;
    let worker = scene.outside("worker-1")?;
    let got = receive(&worker, &to_worker, 10).await?;
    ensure!(bodies(&got) == numbers(0..10), "dispatches: {:?}", bodies(&got));
    settle(&worker, got).await?;
    let got = receive(&worker, &Channel::Events, 10).await?;
    ensure!(bodies(&got) == numbers(0..10), "events: {:?}", bodies(&got));
    Ok(Outcome::Kept)
}

/// What the consumer has seen: the id of each body, and how often it came.
type Seen = HashMap<String, (String, usize)>;

pub(crate) async fn nothing_is_lost_in_crashes_under_load(stage: &mut Stage) -> Result<Outcome> {
    let mut random = Random::new(stage.bed.name());
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    if at_most_once(&scheduler) {
        return at_most_once_under_load(&scheduler, &producer).await;
    }
    let progress = Arc::new(AtomicUsize::new(0));
    let sending = tokio::spawn(async move {
        for start in (0..LOAD).step_by(20) {
            publish(&producer, messages(&Channel::Jobs, start..start + 20)).await?;
        }
        anyhow::Ok(())
    });
    let consuming = tokio::spawn(consume(Arc::clone(&scheduler), Arc::clone(&progress)));
    let crashes = stage.bed.crashes_under_load();
    for crash in 0..crashes {
        // Somewhere in its share of the load.
        let share = LOAD / crashes;
        let at = crash * share + usize::try_from(random.below(share as u64 * 3 / 4))?;
        while progress.load(Ordering::Relaxed) < at && !consuming.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stage.bed.crash()?;
    }
    sending.await??;
    let seen = tokio::time::timeout(LOAD_DEADLINE, consuming).await.with_context(|| {
        format!("only {} of {LOAD} arrived", progress.load(Ordering::Relaxed))
    })???;
    let twice = seen.values().filter(|(_, count)| *count > 1).count();
    eprintln!("{}: {crashes} crashes, {twice} redelivered", stage.bed.name());
    // What was settled while the server died may come again, under the same id; then it is done.
    tokio::time::timeout(LOAD_DEADLINE, consume_rest(&scheduler, seen))
        .await
        .context("what is settled comes again and again")??;
    if stage.bed.counts_after_a_crash() {
        backlog_becomes(&scheduler, &Channel::Jobs, 0).await?;
    }
    Ok(Outcome::Kept)
}

async fn consume(broker: Arc<dyn Broker>, progress: Arc<AtomicUsize>) -> Result<Seen> {
    let mut seen = Seen::new();
    while seen.len() < LOAD {
        let batch = broker.receive(&Channel::Jobs, BATCH).await?;
        take(&broker, batch, &mut seen).await?;
        progress.store(seen.len(), Ordering::Relaxed);
    }
    Ok(seen)
}

/// Until nothing comes for longer than an unsettled message may stay away.
async fn consume_rest(broker: &Arc<dyn Broker>, mut seen: Seen) -> Result<()> {
    loop {
        let received = broker.receive(&Channel::Jobs, BATCH);
        let Ok(batch) = tokio::time::timeout(REDELIVER_AFTER * 3, received).await else {
            return Ok(());
        };
        take(broker, batch?, &mut seen).await?;
        ensure!(seen.len() == LOAD, "something came that was never sent");
    }
}

async fn take(broker: &Arc<dyn Broker>, batch: Vec<Delivery>, seen: &mut Seen) -> Result<()> {
    let mut settlements = Vec::new();
    for delivery in batch {
        let body = String::from_utf8(delivery.body.to_vec())?;
        let id = delivery.id.context("no id")?.to_string();
        let (first_id, count) = seen.entry(body).or_insert_with(|| (id.clone(), 0));
        ensure!(*first_id == id, "one message under two ids: {first_id} and {id}");
        *count += 1;
        settlements.push(Settlement::Done(delivery.receipt));
    }
    match broker.settle(settlements).await {
        // They come again.
        Ok(()) | Err(BrokerError::Lost { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn at_most_once_under_load(
    scheduler: &Arc<dyn Broker>,
    producer: &Arc<dyn Broker>,
) -> Result<Outcome> {
    let sending = {
        let producer = Arc::clone(producer);
        tokio::spawn(async move {
            for start in (0..LOAD).step_by(20) {
                in_time("send", producer.publish(messages(&Channel::Jobs, start..start + 20)))
                    .await?;
            }
            anyhow::Ok(())
        })
    };
    let got = receive(scheduler, &Channel::Jobs, LOAD).await?;
    ensure!(bodies(&got) == numbers(0..LOAD), "lost or twice, with nobody dead");
    sending.await??;
    Ok(Outcome::Weaker("no server to crash: nothing is lost or twice while both sides live"))
}
