//! Priorities, sizes and bounds.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bellwether_brokers::{Channel, Outgoing};

use super::Outcome;
use crate::stage::{
    Scene, Stage, at_most_once, bodies, in_time, message, messages, publish, receive, settle,
};

pub(crate) async fn higher_priority_goes_first(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    if in_order_of_priority(&scene).await? {
        return Ok(Outcome::Kept);
    }
    let Some(scene) = stage.scene_with_priorities()? else {
        return Ok(Outcome::Weaker(
            "no priorities: in the order of sending, and the scheduler sorts",
        ));
    };
    ensure!(in_order_of_priority(&scene).await?, "none even when asked for");
    Ok(Outcome::Weaker("only if configured; else in the order of sending"))
}

/// Whether what is more important came first; else all came in the order of sending.
async fn in_order_of_priority(scene: &Scene) -> Result<bool> {
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let job = |body: &str, priority: u8| Outgoing {
        priority: Some(priority),
        ..message(&Channel::Jobs, body)
    };
    let jobs = vec![
        job("low", 25),
        job("normal", 50),
        job("critical", 100),
        job("high", 75),
        job("normal too", 50),
    ];
    publish(&producer, jobs).await?;
    let got = receive(&scheduler, &Channel::Jobs, 5).await?;
    let order = bodies(&got);
    let priorities = scheduler.promises().priorities;
    let expected = match priorities {
        true => ["critical", "high", "normal", "normal too", "low"],
        false => ["low", "normal", "critical", "high", "normal too"],
    };
    ensure!(order == expected, "got {order:?}");
    settle(&scheduler, got).await?;
    Ok(priorities)
}

pub(crate) async fn large_message_arrives_whole(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let large: Vec<u8> = (0..1_u32 << 20).map(|at| (at % 251) as u8).collect();
    publish(&producer, vec![Outgoing::new(Channel::Jobs, large.clone())]).await?;
    let got = receive(&scheduler, &Channel::Jobs, 1).await?;
    ensure!(got[0].body[..] == large[..], "{} bytes came, or others", got[0].body.len());
    settle(&scheduler, got).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn unread_stays_with_the_broker(stage: &mut Stage) -> Result<Outcome> {
    const ALL: usize = 3000;
    let scene = stage.scene()?.with_prefetch(10);
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    if at_most_once(&scheduler) {
        // Without a broker the sender keeps what is not read, and has to wait once that is much.
        const MANY: usize = 300_000;
        let mut sending = {
            let producer = Arc::clone(&producer);
            let batch = vec![Outgoing::new(Channel::Jobs, vec![b'x'; 256]); MANY];
            tokio::spawn(async move { producer.publish(batch).await })
        };
        let first = receive(&scheduler, &Channel::Jobs, 1).await?;
        let early = tokio::time::timeout(Duration::from_millis(500), &mut sending).await;
        ensure!(early.is_err(), "all was taken by somebody who does not read: {early:?}");
        settle(&scheduler, first).await?;
        let rest = receive(&scheduler, &Channel::Jobs, MANY - 1).await?;
        settle(&scheduler, rest).await?;
        in_time("the sender", async { Ok(sending.await) }).await???;
        return Ok(Outcome::Weaker("unread stays with the sender, who waits"));
    }
    publish(&producer, messages(&Channel::Jobs, 0..ALL)).await?;
    let first = receive(&scheduler, &Channel::Jobs, 10).await?;
    if stage.bed.readers_share() {
        let successor = scene.successor()?;
        let mut others = 0;
        while others < ALL - 500 {
            let batch = receive(&successor, &Channel::Jobs, 10).await?;
            others += batch.len();
            settle(&successor, batch).await?;
        }
    } else {
        let left = in_time("backlog", scheduler.backlog(&Channel::Jobs)).await?;
        ensure!(left == Some(ALL as u64), "{left:?} are left of {ALL}");
    }
    settle(&scheduler, first).await?;
    Ok(Outcome::Kept)
}
