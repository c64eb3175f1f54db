//! What somebody else declares or deletes.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bellwether_brokers::{BrokerError, Channel};
use lapin::options::{ExchangeDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties, ExchangeKind};

use crate::servers::rabbitmq::RabbitMq;
use crate::stage::{Stage, in_time, messages, publish, receive, settle};

const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
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
    // What is confirmed while the queue goes may go with it, so it takes as many as it takes.
    let began = Instant::now();
    for number in 10.. {
        publish(&producer, messages(&Channel::Jobs, number..number + 1)).await?;
        let received = tokio::time::timeout(PAUSE, scheduler.receive(&Channel::Jobs, 100)).await;
        if let Ok(got) = received {
            return settle(&scheduler, got?).await;
        }
        ensure!(began.elapsed() < DEADLINE, "nothing comes from the queue that was made again");
    }
    Ok(())
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
