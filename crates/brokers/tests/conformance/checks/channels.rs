//! Each channel is its own.

use std::sync::Arc;

use anyhow::{Result, ensure};
use bellwether_brokers::{Broker, Channel};

use super::Outcome;
use crate::stage::{
    Stage, bodies, in_time, message, messages, numbers, publish, receive, register, settle,
};

pub(crate) async fn dispatch_reaches_only_its_worker(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let scheduler = scene.scheduler()?;
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let (first, second) = (scene.outside("worker-1")?, scene.outside("worker-2")?);
    register(&scheduler, &first).await?;
    register(&scheduler, &second).await?;
    let (to_first, to_second) = (Channel::dispatch("worker-1"), Channel::dispatch("worker-2"));
    let mut offers = Vec::new();
    for number in 0..20 {
        offers.push(message(&to_first, format!("first-{number}")));
        offers.push(message(&to_second, format!("second-{number}")));
    }
    publish(&scheduler, offers).await?;
    for (worker, channel, name) in [(&first, to_first, "first"), (&second, to_second, "second")] {
        let got = receive(worker, &channel, 20).await?;
        let expected: Vec<String> = (0..20).map(|number| format!("{name}-{number}")).collect();
        ensure!(bodies(&got) == expected, "{name} got {:?}", bodies(&got));
        settle(worker, got).await?;
    }
    Ok(Outcome::Kept)
}

pub(crate) async fn replies_arrive(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let scheduler = scene.scheduler()?;
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let (first, second) = (scene.outside("worker-1")?, scene.outside("worker-2")?);
    register(&scheduler, &first).await?;
    register(&scheduler, &second).await?;
    for number in 0..10 {
        publish(&first, vec![message(&Channel::Replies, format!("first-{number}"))]).await?;
        publish(&second, vec![message(&Channel::Replies, format!("second-{number}"))]).await?;
    }
    let got = receive(&scheduler, &Channel::Replies, 20).await?;
    for name in ["first", "second"] {
        let of_one: Vec<String> =
            bodies(&got).into_iter().filter(|body| body.starts_with(name)).collect();
        let expected: Vec<String> = (0..10).map(|number| format!("{name}-{number}")).collect();
        ensure!(of_one == expected, "replies of {name}: {of_one:?}");
    }
    settle(&scheduler, got).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn events_reach_every_reader_in_order(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let scheduler = scene.scheduler()?;
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let readers = [scene.outside("watcher-1")?, scene.outside("watcher-2")?];
    if !stage.bed.keeps_events() {
        for reader in &readers {
            listen(&scheduler, reader).await?;
        }
    }
    for start in (0..200).step_by(50) {
        publish(&scheduler, messages(&Channel::Events, start..start + 50)).await?;
    }
    for reader in &readers {
        let mut seen = Vec::new();
        while seen.len() < 200 {
            let got = receive(reader, &Channel::Events, 1).await?;
            seen.extend(bodies(&got).into_iter().filter(|body| body != "probe"));
            settle(reader, got).await?;
        }
        ensure!(seen == numbers(0..200), "out of order: {seen:?}");
    }
    if stage.bed.keeps_events() {
        return Ok(Outcome::Kept);
    }
    Ok(Outcome::Weaker("only readers that listen already"))
}

/// Tells events until the reader hears them.
async fn listen(scheduler: &Arc<dyn Broker>, reader: &Arc<dyn Broker>) -> Result<()> {
    let listening = {
        let reader = Arc::clone(reader);
        tokio::spawn(async move { receive(&reader, &Channel::Events, 1).await })
    };
    while !listening.is_finished() {
        publish(scheduler, vec![message(&Channel::Events, "probe")]).await?;
        tokio::task::yield_now().await;
    }
    listening.await??;
    Ok(())
}

pub(crate) async fn prefixes_do_not_mix(stage: &mut Stage) -> Result<Outcome> {
    let (one, other) = (stage.scene()?, stage.scene()?);
    let (here, there) = (one.scheduler()?, other.scheduler()?);
    for scheduler in [&here, &there] {
        in_time("check", async { Ok(scheduler.check().await) }).await?;
    }
    let (sender, other_sender) = (one.outside("producer")?, other.outside("producer")?);
    publish(&sender, vec![message(&Channel::Jobs, "here")]).await?;
    publish(&other_sender, vec![message(&Channel::Jobs, "there")]).await?;
    publish(&sender, vec![message(&Channel::Jobs, "here too")]).await?;
    let got = receive(&here, &Channel::Jobs, 2).await?;
    ensure!(bodies(&got) == ["here", "here too"], "got {:?}", bodies(&got));
    settle(&here, got).await?;
    let got = receive(&there, &Channel::Jobs, 1).await?;
    ensure!(bodies(&got) == ["there"], "got {:?}", bodies(&got));
    settle(&there, got).await?;
    Ok(Outcome::Kept)
}
