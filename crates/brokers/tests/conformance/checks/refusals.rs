//! What is wrong is said, with the way out.

use anyhow::{Context, Result, bail, ensure};
use bellwether_brokers::{Backend, BrokerError, Channel, Side, Verdict, open};

use super::Outcome;
use crate::bed::Encrypted;
use crate::stage::{Stage, bodies, in_time, message, publish, receive, settings, settle};

pub(crate) async fn wrong_credentials_are_refused(stage: &mut Stage) -> Result<Outcome> {
    let Some(backend) = stage.bed.without_permission()? else {
        return Ok(Outcome::Weaker("nobody is asked who he is: keep the ports on loopback"));
    };
    refused(backend).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn wrong_server_is_refused(stage: &mut Stage) -> Result<Outcome> {
    let backend = stage.bed.wrong_server()?;
    refused(backend).await?;
    Ok(Outcome::Kept)
}

pub(crate) async fn encrypted_only_with_whom_is_trusted(stage: &mut Stage) -> Result<Outcome> {
    let Some(Encrypted { trusted, unknown }) = stage.bed.encrypted()? else {
        return Ok(Outcome::Weaker("nothing is encrypted: keep it on this machine"));
    };
    let scene = stage.scene_at(trusted)?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    publish(&producer, vec![message(&Channel::Jobs, "sealed")]).await?;
    let got = receive(&scheduler, &Channel::Jobs, 1).await?;
    ensure!(bodies(&got) == ["sealed"], "got {:?}", bodies(&got));
    settle(&scheduler, got).await?;
    refused(unknown).await?;
    Ok(Outcome::Kept)
}

async fn refused(backend: Backend) -> Result<()> {
    let mut settings = settings(backend);
    // Whoever sends first finds out; over ZeroMQ that is who binds.
    settings.side = Side::Scheduler;
    let broker = open(settings)?;
    let channel = Channel::dispatch("worker-1");
    let received = in_time("receive", async { Ok(broker.receive(&Channel::Jobs, 1).await) });
    expect_refused("receive", received.await?.map(drop))?;
    let sent = in_time("publish", async { Ok(broker.publish(vec![message(&channel, 1)]).await) });
    expect_refused("publish", sent.await?)?;
    let report = in_time("check", async { Ok(broker.check().await) }).await?;
    ensure!(!report.usable(), "the check finds nothing: {report}");
    let bad = report.findings.iter().find_map(|finding| match &finding.verdict {
        Verdict::Bad { way_out, .. } => Some(way_out),
        Verdict::Good(_) | Verdict::Warning(_) => None,
    });
    ensure!(!bad.context("nothing bad")?.is_empty(), "no way out: {report}");
    Ok(())
}

fn expect_refused(step: &str, result: Result<(), BrokerError>) -> Result<()> {
    match result {
        Err(BrokerError::Refused { way_out, .. }) => {
            ensure!(!way_out.is_empty(), "{step}: no way out");
            Ok(())
        }
        other => bail!("{step} is not refused: {other:?}"),
    }
}

pub(crate) async fn check_tells_the_version(stage: &mut Stage) -> Result<Outcome> {
    let scene = stage.scene()?;
    let scheduler = scene.scheduler()?;
    let report = in_time("check", async { Ok(scheduler.check().await) }).await?;
    ensure!(report.usable(), "not usable: {report}");
    let version = report.version.clone().context("no version")?;
    ensure!(version.contains('.'), "no version: {version}");
    eprintln!("{report}");
    Ok(Outcome::Kept)
}
