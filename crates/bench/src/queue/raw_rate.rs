//! How fast a queue is by itself, with nothing behind it: what a scheduler that reads from it can be
//! compared with.

use std::time::Instant;

use bellwether_brokers::{
    Broker, BrokerError, Channel, MessageId, Outgoing, Settings, Settlement, Side,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

/// What is sent: at least one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages {
    pub(super) count: usize,
    /// The size of each.
    pub(super) bytes: usize,
    /// How many in one call.
    pub(super) batch: usize,
    /// How many calls are under way at once.
    pub(super) calls: usize,
}

/// Messages a second from sender to settled. The channel for jobs must be empty and nobody else may
/// use it; it is empty again afterwards.
pub(super) async fn raw_rate(settings: &Settings, messages: Messages) -> Result<f64, BrokerError> {
    let open = |side| bellwether_brokers::open(Settings { side, ..settings.clone() });
    let (scheduler, producer) = (open(Side::Scheduler)?, open(Side::Outside)?);
    // Makes what is missing, and opens the ports where there is no broker.
    scheduler.check().await;
    let begun = Instant::now();
    tokio::try_join!(publish(producer.as_ref(), messages), consume(scheduler.as_ref(), messages))?;
    Ok(messages.count as f64 / begun.elapsed().as_secs_f64())
}

async fn publish(producer: &dyn Broker, messages: Messages) -> Result<(), BrokerError> {
    let batches = (0..messages.count).step_by(messages.batch).map(|first| {
        let end = (first + messages.batch).min(messages.count);
        (first..end).map(|number| message(messages.bytes, number)).collect::<Vec<_>>()
    });
    stream::iter(batches)
        .map(|batch| producer.publish(batch))
        .buffered(messages.calls)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await
}

fn message(bytes: usize, number: usize) -> Outgoing {
    let mut message = Outgoing::new(Channel::Jobs, vec![b'x'; bytes]);
    message.id = Some(MessageId::new(format!("raw-{}-{number}", std::process::id())));
    message
}

async fn consume(scheduler: &dyn Broker, messages: Messages) -> Result<(), BrokerError> {
    let batches = stream::try_unfold(messages.count, |left| async move {
        if left == 0 {
            return Ok(None);
        }
        let batch = scheduler.receive(&Channel::Jobs, messages.batch.min(left)).await?;
        let left = left - batch.len();
        Ok(Some((batch, left)))
    });
    batches
        .map_ok(|batch| {
            let done = batch.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            scheduler.settle(done.collect())
        })
        .try_buffered(messages.calls)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await
}
