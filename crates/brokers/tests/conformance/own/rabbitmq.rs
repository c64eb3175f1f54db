//! What somebody else declares or deletes.

use anyhow::{Result, ensure};
use bellwether_brokers::{BrokerError, Channel};
use lapin::options::{ExchangeDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties, ExchangeKind};

use crate::servers::rabbitmq::RabbitMq;
use crate::stage::{Stage, bodies, in_time, messages, numbers, publish, receive, settle};

const JOBS: &str = "kai-job-1.jobs";

async fn client(bed: &RabbitMq) -> Result<lapin::Channel> {
    let connection = Connection::connect(&bed.url(), ConnectionProperties::default()).await?;
    Ok(connection.create_channel().await?)
}

#[tokio::test]
async fn deleted_queue_is_made_again() -> Result<()> {
    let bed = RabbitMq::start()?;
    let client = client(&bed).await?;
    let mut stage = Stage::new(Box::new(bed));
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    publish(&producer, messages(&Channel::Jobs, 0..10)).await?;
    let got = receive(&scheduler, &Channel::Jobs, 10).await?;
    settle(&scheduler, got).await?;
    client.queue_delete(JOBS.into(), QueueDeleteOptions::default()).await?;
    publish(&producer, messages(&Channel::Jobs, 10..20)).await?;
    let got = receive(&scheduler, &Channel::Jobs, 10).await?;
    ensure!(bodies(&got) == numbers(10..20), "got {:?}", bodies(&got));
    settle(&scheduler, got).await
}

#[tokio::test]
async fn exchange_of_another_kind_is_refused() -> Result<()> {
    let bed = RabbitMq::start()?;
    let client = client(&bed).await?;
    let options = ExchangeDeclareOptions::default();
    let exchange = "kai-job-1.dead".into();
    client.exchange_declare(exchange, ExchangeKind::Topic, options, FieldTable::default()).await?;
    let mut stage = Stage::new(Box::new(bed));
    let scheduler = stage.scene()?.scheduler()?;
    let refused =
        in_time("refuse", async { Ok(scheduler.receive(&Channel::Jobs, 1).await) }).await?;
    ensure!(matches!(&refused, Err(BrokerError::Refused { .. })), "got {refused:?}");
    Ok(())
}
