//! Reading without settling: the events, which are a log, and dispatches by `PUBLISH`.

use bytes::Bytes;
use futures_util::StreamExt;
use redis::{RedisError, Value};

use super::connection::Server;
use super::{BLOCK, Names, entry};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::{Delivery, MessageId, Receipt, Token};

/// Reads a stream from its start, until nobody wants to receive any more.
pub(super) async fn follow(names: &Names, server: &Server, channel: &Channel, inlet: Inlet) {
    let mut after = "0-0".to_owned();
    let mut backoff = Backoff::default();
    while let Err(error) = follow_once(names, server, channel, &inlet, &mut after).await {
        if !pause_after(error, channel, &inlet, &mut backoff).await {
            return;
        }
    }
}

async fn follow_once(
    names: &Names,
    server: &Server,
    channel: &Channel,
    inlet: &Inlet,
    after: &mut String,
) -> Result<(), BrokerError> {
    let explain = |error: RedisError| server.failure(&error);
    let mut connection = server.connect().await?;
    let key = names.key(channel);
    while !inlet.is_closed() {
        let mut command = redis::cmd("XREAD");
        command.arg("COUNT").arg(names.prefetch);
        command.arg("BLOCK").arg(u64::try_from(BLOCK.as_millis()).unwrap_or(u64::MAX));
        command.arg("STREAMS").arg(&key).arg(after.as_str());
        let answer: Value = command.query_async(&mut connection).await.map_err(explain)?;
        let entries = entry::entries_of_read(answer);
        let Some(last) = entries.last() else { continue };
        let next = last.id.clone();
        let batch = entries.into_iter().map(|entry| entry.delivery(channel, false, true)).collect();
        if inlet.send(Ok(batch)).await.is_err() {
            return Ok(());
        }
        *after = next;
    }
    Ok(())
}

/// Listens to what is published, until nobody wants to receive any more.
pub(super) async fn subscribe(names: &Names, server: &Server, channel: &Channel, inlet: Inlet) {
    let mut backoff = Backoff::default();
    while let Err(error) = subscribe_once(names, server, channel, &inlet).await {
        if !pause_after(error, channel, &inlet, &mut backoff).await {
            return;
        }
    }
}

async fn subscribe_once(
    names: &Names,
    server: &Server,
    channel: &Channel,
    inlet: &Inlet,
) -> Result<(), BrokerError> {
    let explain = |error: RedisError| server.failure(&error);
    let mut connection = server.client().get_async_pubsub().await.map_err(explain)?;
    connection.subscribe(names.key(channel)).await.map_err(explain)?;
    let mut messages = connection.into_on_message().ready_chunks(names.prefetch);
    let mut count = 0_u64;
    while let Some(batch) = messages.next().await {
        let batch = batch.into_iter().map(|message| {
            count += 1;
            Delivery {
                // Nothing is ever published twice, so any id that is new will do.
                id: Some(MessageId::new(format!("published-{:p}-{count}", inlet))),
                body: Bytes::copy_from_slice(message.get_payload_bytes()),
                priority: None,
                redelivered: false,
                error: None,
                receipt: Receipt { channel: channel.clone(), token: Token::Settled },
            }
        });
        if inlet.send(Ok(batch.collect())).await.is_err() {
            return Ok(());
        }
    }
    Err(BrokerError::lost(server.name(), "the subscription has ended"))
}
