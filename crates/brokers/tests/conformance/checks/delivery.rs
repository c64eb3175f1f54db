//! What was sent arrives.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bellwether_brokers::Channel;

use super::Outcome;
use crate::stage::{Stage, bodies, in_time, messages, numbers, publish, receive, settle};

pub(crate) async fn delivered_in_the_order_of_sending(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let reading = {
        let scheduler = Arc::clone(&scheduler);
        tokio::spawn(async move { receive(&scheduler, &Channel::Jobs, 300).await })
    };
    for start in (0..300).step_by(30) {
        publish(&producer, messages(&Channel::Jobs, start..start + 30)).await?;
    }
    let got = reading.await??;
    ensure!(bodies(&got) == numbers(0..300), "out of order: {:?}", bodies(&got));
    settle(&scheduler, got).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn batches_arrive_whole(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let sending = {
        let producer = Arc::clone(&producer);
        tokio::spawn(async move { publish(&producer, messages(&Channel::Jobs, 0..1000)).await })
    };
    let mut count = 0;
    while count < 1000 {
        let batch = receive(&scheduler, &Channel::Jobs, (1000 - count).min(64)).await?;
        count += batch.len();
        settle(&scheduler, batch).await?;
    }
    sending.await??;
    let error = scheduler.receive(&Channel::Jobs, 0).await;
    ensure!(error.is_err(), "a batch of none is no batch");
    Ok(Outcome::Kept)
}

pub(crate) async fn receive_can_be_cancelled(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let sending = {
        let producer = Arc::clone(&producer);
        tokio::spawn(async move {
            for number in 0..50 {
                publish(&producer, messages(&Channel::Jobs, number..number + 1)).await?;
            }
            anyhow::Ok(())
        })
    };
    let mut got = Vec::new();
    while got.len() < 50 {
        // Cancelled all the time, at whatever point it has reached.
        let receiving = scheduler.receive(&Channel::Jobs, 7);
        if let Ok(batch) = tokio::time::timeout(Duration::from_micros(300), receiving).await {
            got.extend(batch?);
        }
        ensure!(!sending.is_finished() || got.len() <= 50, "too many: {:?}", bodies(&got));
    }
    sending.await??;
    ensure!(bodies(&got) == numbers(0..50), "not all, or out of order: {:?}", bodies(&got));
    settle(&scheduler, got).await?;
    Ok(Outcome::Kept)
}
