//! What becomes of a message after it was received.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bellwether_brokers::{Channel, Identity, Outgoing, Settlement};

use super::Outcome;
use crate::stage::{
    REDELIVER_AFTER, Stage, at_most_once, backlog_becomes, bodies, in_time, message, messages,
    publish, receive, settle,
};

const GONE: &str = "what was received is gone with its receiver, and never comes twice";

pub(crate) async fn settled_is_never_seen_again(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    // Somebody must listen before a sender without a broker can send.
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, messages(&Channel::Jobs, 0..20)).await?;
    let got = receive(&scheduler, &Channel::Jobs, 20).await?;
    settle(&scheduler, got).await?;
    backlog_becomes(&scheduler, &Channel::Jobs, 0).await?;
    drop((scheduler, producer));
    let (next, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(next.check().await) }).await?;
    publish(&producer, vec![message(&Channel::Jobs, "last")]).await?;
    let got = receive(&next, &Channel::Jobs, 1).await?;
    ensure!(bodies(&got) == ["last"], "came again: {:?}", bodies(&got));
    settle(&next, got).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn unsettled_is_redelivered_when_its_consumer_dies(
    stage: &mut Stage,
) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, messages(&Channel::Jobs, 0..10)).await?;
    let mut got = receive(&scheduler, &Channel::Jobs, 10).await?;
    let unsettled = got.split_off(4);
    settle(&scheduler, got).await?;
    // To the server this is what the death of the process looks like.
    drop((scheduler, unsettled, producer));
    let (successor, producer) = (scene.successor()?, scene.outside("producer")?);
    if at_most_once(&successor) {
        in_time("check", async { Ok(successor.check().await) }).await?;
        publish(&producer, vec![message(&Channel::Jobs, "next")]).await?;
        let got = receive(&successor, &Channel::Jobs, 1).await?;
        ensure!(bodies(&got) == ["next"], "came twice: {:?}", bodies(&got));
        return Ok(Outcome::Weaker(GONE));
    }
    let mut again = receive(&successor, &Channel::Jobs, 6).await?;
    again.sort_by(|a, b| a.body.cmp(&b.body));
    ensure!(bodies(&again) == ["4", "5", "6", "7", "8", "9"], "got {:?}", bodies(&again));
    ensure!(again.iter().all(|delivery| delivery.redelivered), "not told to be redelivered");
    settle(&successor, again).await?;
    backlog_becomes(&successor, &Channel::Jobs, 0).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn redelivery_has_the_same_id(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, vec![message(&Channel::Jobs, "named")]).await?;
    // Two that are equal in everything but themselves.
    publish(&producer, vec![Outgoing::new(Channel::Jobs, "nameless"); 2]).await?;
    let first = receive(&scheduler, &Channel::Jobs, 3).await?;
    let ids = |got: &[bellwether_brokers::Delivery]| {
        let mut ids: Vec<_> = got.iter().map(|delivery| delivery.id.clone()).collect();
        ids.sort();
        ids
    };
    let before = ids(&first);
    let named = first.iter().find(|delivery| &delivery.body[..] == b"named");
    let id = named.and_then(|delivery| delivery.id.as_ref()).context("the named one has no id")?;
    ensure!(id.as_str() == "id-named", "the publisher's id became {id}");
    let promises = scheduler.promises();
    drop((scheduler, producer, first));
    let successor = scene.successor()?;
    match promises.identity {
        Identity::Always => {
            ensure!(before.iter().all(Option::is_some), "a message has no id: {before:?}");
            ensure!(before.windows(2).all(|pair| pair[0] != pair[1]), "ids repeat: {before:?}");
        }
        Identity::FromPublisher => {
            ensure!(before.iter().filter(|id| id.is_none()).count() == 2, "made up: {before:?}");
        }
    }
    if at_most_once(&successor) {
        return Ok(Outcome::Weaker(GONE));
    }
    let again = receive(&successor, &Channel::Jobs, 3).await?;
    ensure!(ids(&again) == before, "ids changed from {before:?} to {:?}", ids(&again));
    settle(&successor, again).await?;
    match promises.identity {
        Identity::Always => Ok(Outcome::Kept),
        Identity::FromPublisher => Ok(Outcome::Weaker("only if the publisher gives the id")),
    }
}

pub(crate) async fn released_comes_back(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, messages(&Channel::Jobs, 0..5)).await?;
    let got = receive(&scheduler, &Channel::Jobs, 5).await?;
    let released = got.into_iter().map(|delivery| Settlement::Release(delivery.receipt));
    in_time("release", scheduler.settle(released.collect())).await?;
    if at_most_once(&scheduler) {
        publish(&producer, vec![message(&Channel::Jobs, "next")]).await?;
        let got = receive(&scheduler, &Channel::Jobs, 1).await?;
        ensure!(bodies(&got) == ["next"], "came twice: {:?}", bodies(&got));
        return Ok(Outcome::Weaker("what was received can't be given back"));
    }
    let mut again = receive(&scheduler, &Channel::Jobs, 5).await?;
    again.sort_by(|a, b| a.body.cmp(&b.body));
    ensure!(bodies(&again) == ["0", "1", "2", "3", "4"], "got {:?}", bodies(&again));
    settle(&scheduler, again).await?;
    backlog_becomes(&scheduler, &Channel::Jobs, 0).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn held_for_long_stays_held(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, messages(&Channel::Jobs, 0..3)).await?;
    let held = receive(&scheduler, &Channel::Jobs, 3).await?;
    // What must not happen has this long to happen.
    let patience = REDELIVER_AFTER * 2 + REDELIVER_AFTER / 2;
    if at_most_once(&scheduler) {
        let more = tokio::time::timeout(patience / 4, scheduler.receive(&Channel::Jobs, 1)).await;
        ensure!(more.is_err(), "came twice");
        return Ok(Outcome::Weaker(GONE));
    }
    let successor = scene.successor()?;
    let mine = tokio::time::timeout(patience, scheduler.receive(&Channel::Jobs, 1));
    let other = {
        let successor = Arc::clone(&successor);
        async move { tokio::time::timeout(patience, successor.receive(&Channel::Jobs, 1)).await }
    };
    let (mine, other) = tokio::join!(mine, other);
    ensure!(mine.is_err(), "delivered again to its holder: {mine:?}");
    ensure!(other.is_err(), "taken from its holder: {other:?}");
    settle(&scheduler, held).await?;
    backlog_becomes(&scheduler, &Channel::Jobs, 0).await?;
    Ok(Outcome::Kept)
}
