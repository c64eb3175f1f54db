//! Queues and the dead-letter exchange, made where they are missing.

use lapin::ExchangeKind;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, LongString};

use super::connection::{Link, Server, is_absent};
use super::{Names, PRIORITY_MAX};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::settings::QueueKind;

/// Offers to a worker that does not come back have long expired by then.
const DISPATCH_EXPIRES_MILLIS: i64 = 24 * 3600 * 1000;

/// About the size of a message of events on a busy day, since streams are bounded by bytes.
const EVENTS_BYTES: u64 = 32 << 10;

/// Makes sure that the queue of a channel exists, and gives its name.
pub(super) async fn make(
    names: &Names,
    server: &Server,
    link: &Link,
    channel: &Channel,
) -> Result<String, BrokerError> {
    let queue = names.queue(channel);
    if link.declared.lock().await.contains(&queue) {
        return Ok(queue);
    }
    if count(server, link, &queue).await?.is_none() {
        declare(names, link, channel, &queue).await.map_err(|error| server.failure(&error))?;
    }
    link.declared.lock().await.insert(queue.clone());
    Ok(queue)
}

/// How many messages wait in a queue, or None if there is none.
pub(super) async fn count(
    server: &Server,
    link: &Link,
    queue: &str,
) -> Result<Option<u32>, BrokerError> {
    let explain = |error: lapin::Error| server.failure(&error);
    // A channel of its own: the server closes it if there is no such queue.
    let channel = link.connection.create_channel().await.map_err(explain)?;
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    match channel.queue_declare(queue.into(), passive, FieldTable::default()).await {
        Ok(found) => {
            channel.close(200, "done".into()).await.map_err(explain)?;
            Ok(Some(found.message_count()))
        }
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(explain(error)),
    }
}

async fn declare(
    names: &Names,
    link: &Link,
    channel: &Channel,
    queue: &str,
) -> Result<(), lapin::Error> {
    let on = link.connection.create_channel().await?;
    let letters = names.dead_letter_exchange();
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    on.exchange_declare(
        letters.as_str().into(),
        ExchangeKind::Fanout,
        durable,
        FieldTable::default(),
    )
    .await?;
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    on.queue_declare(queue.into(), durable, arguments(names, channel, &letters)).await?;
    if *channel == Channel::Dead {
        let options = QueueBindOptions::default();
        on.queue_bind(
            queue.into(),
            letters.as_str().into(),
            "".into(),
            options,
            FieldTable::default(),
        )
        .await?;
    }
    on.close(200, "done".into()).await
}

fn arguments(names: &Names, channel: &Channel, letters: &str) -> FieldTable {
    let mut arguments = FieldTable::default();
    let text = |text: &str| AMQPValue::LongString(LongString::from(text));
    let quorum = names.queues == QueueKind::Quorum;
    match channel {
        Channel::Events => {
            let bytes = names.events_max.saturating_mul(EVENTS_BYTES);
            arguments.insert("x-queue-type".into(), text("stream"));
            arguments.insert(
                "x-max-length-bytes".into(),
                AMQPValue::LongLongInt(i64::try_from(bytes).unwrap_or(i64::MAX)),
            );
        }
        Channel::Dispatch(_) => {
            arguments.insert("x-expires".into(), AMQPValue::LongLongInt(DISPATCH_EXPIRES_MILLIS));
        }
        Channel::Jobs | Channel::Replies | Channel::Dead => {
            arguments
                .insert("x-queue-type".into(), text(if quorum { "quorum" } else { "classic" }));
            if !quorum {
                arguments.insert("x-max-priority".into(), AMQPValue::ShortInt(PRIORITY_MAX.into()));
            }
            if *channel != Channel::Dead {
                arguments.insert("x-dead-letter-exchange".into(), text(letters));
            }
        }
    }
    arguments
}
