//! The task that consumes one queue.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::{Acker, Consumer};

use super::connection::{Link, Server};
use super::{Names, PRIORITY_STEP, topology};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::{Delivery, MessageId, Receipt, Token};

/// The server gives so many times the prefetch before something must be settled, so that work which
/// waits to become durable does not hold up the next.
const UNSETTLED_FACTOR: usize = 8;

#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) names: Arc<Names>,
    pub(super) server: Arc<Server>,
    pub(super) channel: Channel,
}

impl Fetch {
    /// Reads until nobody wants to receive any more.
    pub(super) async fn run(self, inlet: Inlet) {
        let mut backoff = Backoff::default();
        // The position in the log of events, where the server does not keep it for us.
        let mut events_from = None;
        loop {
            let read = self.read(&inlet, &mut backoff, &mut events_from).await;
            let Err(error) = read else { return };
            if !pause_after(error, &self.channel, &inlet, &mut backoff).await {
                return;
            }
        }
    }

    async fn read(
        &self,
        inlet: &Inlet,
        backoff: &mut Backoff,
        events_from: &mut Option<i64>,
    ) -> Result<(), BrokerError> {
        let link = self.server.link().await?;
        let consuming = self.consume(&link, *events_from);
        let Ok(consumed) = tokio::time::timeout(self.server.timeout(), consuming).await else {
            // The server may yet make a consumer of it, and would give messages to it that nobody
            // ever reads.
            self.server.close(&link).await;
            return Err(BrokerError::lost(self.server.name(), "no answer in time"));
        };
        let (channel, mut consumer) = consumed?;
        let channel = Arc::new(channel);
        backoff.succeeded();
        loop {
            let first = tokio::select! {
                () = inlet.closed() => return Ok(()),
                first = consumer.next() => first,
            };
            let mut next = Some(first);
            let (mut batch, mut read, mut failure) = (Vec::new(), Vec::new(), None);
            while let Some(message) = next {
                match message {
                    Some(Ok(message)) => {
                        if self.channel == Channel::Events {
                            *events_from = offset(&message).map(|offset| offset + 1);
                            read.push(message.acker.clone());
                        }
                        batch.push(self.delivery(&channel, message));
                    }
                    Some(Err(error)) => {
                        failure = Some(self.server.failure(&error));
                        break;
                    }
                    None => {
                        let reason = "the server has ended the delivery";
                        failure = Some(BrokerError::lost(self.server.name(), reason));
                        break;
                    }
                }
                next = if batch.len() < self.names.prefetch {
                    consumer.next().now_or_never()
                } else {
                    None
                };
            }
            if !batch.is_empty() && inlet.send(Ok(batch)).await.is_err() {
                return Ok(());
            }
            self.ask_for_more(read).await?;
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
    }

    async fn consume(
        &self,
        link: &Link,
        events_from: Option<i64>,
    ) -> Result<(lapin::Channel, Consumer), BrokerError> {
        let explain = |error: lapin::Error| self.server.failure(&error);
        let queue = topology::make(&self.names, &self.server, link, &self.channel).await?;
        let channel = link.connection.create_channel().await.map_err(explain)?;
        let unsettled = self.names.prefetch.saturating_mul(UNSETTLED_FACTOR);
        let unsettled = u16::try_from(unsettled).unwrap_or(u16::MAX);
        channel.basic_qos(unsettled, BasicQosOptions::default()).await.map_err(explain)?;
        let mut arguments = FieldTable::default();
        if self.channel == Channel::Events {
            let from = match events_from {
                Some(offset) => AMQPValue::LongLongInt(offset),
                None => AMQPValue::LongString(LongString::from("first")),
            };
            arguments.insert("x-stream-offset".into(), from);
        }
        let options = BasicConsumeOptions::default();
        let consuming = channel.basic_consume(queue.as_str().into(), "".into(), options, arguments);
        match consuming.await {
            Ok(consumer) => Ok((channel, consumer)),
            Err(error) => {
                // Somebody may have deleted it: look again, and make it.
                link.declared.lock().await.remove(&queue);
                Err(explain(error))
            }
        }
    }

    fn delivery(
        &self,
        channel: &Arc<lapin::Channel>,
        message: lapin::message::Delivery,
    ) -> Delivery {
        let properties = &message.properties;
        let header = |name: &str| {
            let headers = properties.headers().as_ref()?.inner();
            match headers.get(name)? {
                AMQPValue::LongString(text) => {
                    Some(String::from_utf8_lossy(text.as_bytes()).into_owned())
                }
                _ => None,
            }
        };
        let id = properties.message_id().as_ref().map(|id| MessageId::new(id.as_str()));
        let priority = properties.priority().map(|level| level.saturating_mul(PRIORITY_STEP));
        let (error, token) = match self.channel {
            Channel::Events => (None, Token::Settled),
            // Who is not us dead-letters without an error, but the server says why.
            Channel::Dead => (
                header("x-error").or_else(|| header("x-first-death-reason")),
                Token::Tag(message.acker, Arc::clone(channel)),
            ),
            Channel::Jobs | Channel::Replies | Channel::Dispatch(_) => {
                (None, Token::Tag(message.acker, Arc::clone(channel)))
            }
        };
        Delivery {
            id,
            body: Bytes::from(message.data),
            priority,
            redelivered: message.redelivered,
            error,
            receipt: Receipt { channel: self.channel.clone(), token },
        }
    }

    /// A stream gives the next messages only for acknowledged ones; it keeps them nonetheless.
    async fn ask_for_more(&self, read: Vec<Acker>) -> Result<(), BrokerError> {
        let acknowledged =
            join_all(read.iter().map(|acker| acker.ack(BasicAckOptions::default()))).await;
        for result in acknowledged {
            result.map_err(|error| self.server.failure(&error))?;
        }
        Ok(())
    }
}

/// The position of a message in its stream.
fn offset(message: &lapin::message::Delivery) -> Option<i64> {
    let headers = message.properties.headers().as_ref()?.inner();
    match headers.get("x-stream-offset")? {
        AMQPValue::LongLongInt(offset) => Some(*offset),
        _ => None,
    }
}
