//! How fast a queue is by itself, measured through this crate with nothing behind it: what a
//! scheduler that reads from it can be compared with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::broker::Broker;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::{MessageId, Outgoing, Settlement};
use crate::settings::{Settings, Side};

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many messages in each part of the measurement; at least one.
    pub messages: usize,
    /// How many in one call.
    pub batch: usize,
    /// The size of each.
    pub bytes: usize,
    /// How many calls are under way at once.
    pub calls: usize,
    /// How many messages are sent one at a time to see how long one takes.
    pub single: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self { messages: 20_000, batch: 200, bytes: 256, calls: 4, single: 200 }
    }
}

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Messages sent and confirmed per second, with nobody reading.
    pub published_per_second: f64,
    /// Messages received and settled per second, with nobody sending.
    pub consumed_per_second: f64,
    /// Messages per second from sender to settled, with both at once.
    pub through_per_second: f64,
    /// From sending one message until it is received, the middle one.
    pub latency_p50: Duration,
    /// The same, the slowest but one in a hundred.
    pub latency_p99: Duration,
}

/// Measures the queue of these settings with jobs of its own. The channel must be empty and nobody
/// else may use it, so choose a `stream_prefix` for it; it is empty again afterwards.
///
/// # Errors
/// Any error of the broker ends it.
pub async fn raw_rate(settings: &Settings, load: Load) -> Result<Rates, BrokerError> {
    let scheduler = crate::open(Settings { side: Side::Scheduler, ..settings.clone() })?;
    let outside =
        Settings { side: Side::Outside, consumer: "raw-rate".to_owned(), ..settings.clone() };
    let producer = crate::open(outside)?;
    // Makes what is missing, and opens the ports where there is no broker.
    scheduler.check().await;
    let mut number = 0;

    let began = Instant::now();
    publish(&producer, load, &mut number).await?;
    let published = rate(load, began);

    let began = Instant::now();
    consume(&scheduler, load).await?;
    let consumed = rate(load, began);

    let began = Instant::now();
    tokio::try_join!(publish(&producer, load, &mut number), consume(&scheduler, load))?;
    let through = rate(load, began);

    let mut latencies = Vec::with_capacity(load.single);
    for _ in 0..load.single.max(1) {
        let began = Instant::now();
        let sent = producer.publish(vec![message(load, &mut number)]);
        let (_, got) = tokio::try_join!(sent, receive_one(&scheduler, began, &mut latencies))?;
        scheduler.settle(vec![got]).await?;
    }
    latencies.sort();
    Ok(Rates {
        published_per_second: published,
        consumed_per_second: consumed,
        through_per_second: through,
        latency_p50: latencies[latencies.len() / 2],
        latency_p99: latencies[latencies.len() * 99 / 100],
    })
}

fn rate(load: Load, began: Instant) -> f64 {
    load.messages as f64 / began.elapsed().as_secs_f64()
}

fn message(load: Load, number: &mut usize) -> Outgoing {
    *number += 1;
    let mut message = Outgoing::new(Channel::Jobs, vec![b'x'; load.bytes]);
    message.id = Some(MessageId::new(format!("raw-{}-{number}", std::process::id())));
    message
}

async fn publish(
    producer: &Arc<dyn Broker>,
    load: Load,
    number: &mut usize,
) -> Result<(), BrokerError> {
    let mut left = load.messages;
    let batches = std::iter::from_fn(|| {
        let count = left.min(load.batch);
        left -= count;
        let batch: Vec<Outgoing> = (0..count).map(|_| message(load, number)).collect();
        (!batch.is_empty()).then_some(batch)
    });
    stream::iter(batches)
        .map(|batch| producer.publish(batch))
        .buffered(load.calls)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await
}

async fn consume(scheduler: &Arc<dyn Broker>, load: Load) -> Result<(), BrokerError> {
    let batches = stream::try_unfold(load.messages, |left| async move {
        if left == 0 {
            return Ok(None);
        }
        let batch = scheduler.receive(&Channel::Jobs, load.batch.min(left)).await?;
        let left = left - batch.len();
        Ok(Some((batch, left)))
    });
    batches
        .map_ok(|batch| {
            let done = batch.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            scheduler.settle(done.collect())
        })
        .try_buffered(load.calls)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await
}

async fn receive_one(
    scheduler: &Arc<dyn Broker>,
    began: Instant,
    latencies: &mut Vec<Duration>,
) -> Result<Settlement, BrokerError> {
    let mut got = scheduler.receive(&Channel::Jobs, 1).await?;
    latencies.push(began.elapsed());
    match got.pop() {
        Some(delivery) => Ok(Settlement::Done(delivery.receipt)),
        None => Err(BrokerError::misuse("a batch came with nothing in it")),
    }
}
