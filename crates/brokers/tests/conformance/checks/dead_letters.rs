//! Messages that nobody can read.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bellwether_brokers::{Broker, Channel, Delivery, Outgoing, Settlement};

use super::Outcome;
use crate::stage::{
    Scene, Stage, at_most_once, backlog_becomes, bodies, in_time, message, publish, receive, settle,
};

const ERROR: &str = "expected value at line 1 column 1";
const BYTES: &[u8] = b"\x00\xff{ not json \r\n";

pub(crate) async fn dead_letter_keeps_bytes_and_error(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let watcher = watcher(&scene, &scheduler).await?;
    publish(&producer, vec![Outgoing::new(Channel::Jobs, BYTES)]).await?;
    let got = receive(&scheduler, &Channel::Jobs, 1).await?;
    bury(&scheduler, got).await?;
    let letters = match &watcher {
        // Those that came to see whether somebody listens do not count.
        Some(watcher) => loop {
            let letters = receive(watcher, &Channel::Dead, 1).await?;
            if bodies(&letters) != ["probe"] {
                break letters;
            }
        },
        None => receive(&scheduler, &Channel::Dead, 1).await?,
    };
    let letter = letters.first().context("no letter")?;
    ensure!(&letter.body[..] == BYTES, "bytes changed: {:?}", letter.body);
    ensure!(letter.error.as_deref() == Some(ERROR), "error changed: {:?}", letter.error);
    if watcher.is_some() {
        return Ok(Outcome::Weaker("told to who listens, and kept by nobody"));
    }
    drop((scheduler, letters));
    // Who reads dead letters may die of them too.
    let successor = scene.successor()?;
    let letters = receive(&successor, &Channel::Dead, 1).await?;
    ensure!(&letters[0].body[..] == BYTES, "bytes changed: {:?}", letters[0].body);
    settle(&successor, letters).await?;
    backlog_becomes(&successor, &Channel::Jobs, 0).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn dead_letter_does_not_block_the_rest(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let bad = |number: u32| message(&Channel::Jobs, format!("bad-{number}"));
    let good = |number: u32| message(&Channel::Jobs, format!("good-{number}"));
    publish(&producer, vec![bad(0), good(0), bad(1), bad(2), good(1)]).await?;
    let mut seen = Vec::new();
    for _ in 0..5 {
        let got = receive(&scheduler, &Channel::Jobs, 1).await?;
        seen.extend(bodies(&got));
        if got[0].body.starts_with(b"bad") {
            bury(&scheduler, got).await?;
        } else {
            settle(&scheduler, got).await?;
        }
    }
    ensure!(seen == ["bad-0", "good-0", "bad-1", "bad-2", "good-1"], "got {seen:?}");
    backlog_becomes(&scheduler, &Channel::Jobs, 0).await?;
    Ok(Outcome::Kept)
}

async fn bury(broker: &Arc<dyn Broker>, deliveries: Vec<Delivery>) -> Result<()> {
    let letters = deliveries.into_iter().map(|delivery| Settlement::DeadLetter {
        delivery: Box::new(delivery),
        error: ERROR.to_owned(),
    });
    in_time("dead letter", broker.settle(letters.collect())).await
}

/// Where dead letters are not kept: somebody who listens already.
async fn watcher(scene: &Scene, scheduler: &Arc<dyn Broker>) -> Result<Option<Arc<dyn Broker>>> {
    if !at_most_once(scheduler) {
        return Ok(None);
    }
    let (watcher, producer) = (scene.outside("watcher")?, scene.outside("prober")?);
    let listening = {
        let watcher = Arc::clone(&watcher);
        tokio::spawn(async move { receive(&watcher, &Channel::Dead, 1).await })
    };
    while !listening.is_finished() {
        publish(&producer, vec![Outgoing::new(Channel::Jobs, "probe")]).await?;
        let got = receive(scheduler, &Channel::Jobs, 1).await?;
        bury(scheduler, got).await?;
    }
    listening.await??;
    Ok(Some(watcher))
}
