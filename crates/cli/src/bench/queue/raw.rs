//! The broker alone: messages in and out again, with nothing in between.

use std::time::Instant;

use bellwether_brokers::{Channel, Outgoing, Settlement, Side};

use super::broker_server::{BrokerServer, Kind};
use super::through::job;

/// Messages that are published or received together, as the scheduler does.
const BATCH: u64 = 1_000;

/// Messages a second from a producer to a reader who settles each.
pub(super) async fn measure(server: &BrokerServer, messages: u64) -> anyhow::Result<f64> {
    let reader = bellwether_brokers::open(server.settings(Side::Scheduler))?;
    let writer = match server.kind {
        Kind::Sqlite | Kind::Redis | Kind::Nats | Kind::RabbitMq | Kind::ZeroMq => {
            bellwether_brokers::open(server.settings(Side::Outside))?
        }
    };
    let begun = Instant::now();
    let write = async {
        for start in (0..messages).step_by(BATCH as usize) {
            let end = (start + BATCH).min(messages);
            let batch = (start..end).map(|n| Outgoing::new(Channel::Jobs, job(&n.to_string())));
            writer.publish(batch.collect()).await?;
        }
        anyhow::Ok(())
    };
    let read = async {
        let mut left = messages as usize;
        while left > 0 {
            let deliveries = reader.receive(&Channel::Jobs, BATCH as usize).await?;
            left = left.saturating_sub(deliveries.len());
            let done = deliveries.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            reader.settle(done.collect()).await?;
        }
        anyhow::Ok(())
    };
    tokio::try_join!(write, read)?;
    Ok(messages as f64 / begun.elapsed().as_secs_f64())
}
