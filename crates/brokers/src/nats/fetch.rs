//! The task that pulls the messages of one channel.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Subject;
use async_nats::jetstream::consumer::pull::Batch;
use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{Context, Message};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::time::Instant;

use super::connection::Server;
use super::held::Held;
use super::{Names, stream};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::{Delivery, MessageId, Receipt, Token};

/// How long one request for messages stands in the server.
const REQUEST: Duration = Duration::from_secs(1);

/// After this the server should have said that the request has ended. It does not if it was started
/// anew, and now and then it forgets to.
const REQUEST_ENDED: Duration = Duration::from_millis(1_030);

#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) names: Arc<Names>,
    pub(super) server: Arc<Server>,
    pub(super) held: Arc<Held>,
    pub(super) channel: Channel,
}

/// Where the reading stands.
struct Reading {
    context: Context,
    consumer: Consumer<pull::Config>,
    /// Tells this stream's messages from those of another one with the same name.
    origin: String,
    next_progress: Instant,
    /// A request whose end was not heard: something may still be on its way.
    unended: Option<Batch>,
}

impl Fetch {
    /// Reads until nobody wants to receive any more.
    pub(super) async fn run(self, inlet: Inlet) {
        let mut backoff = Backoff::default();
        // The position in the log of events, where the server does not keep it for us.
        let mut events_after = 0;
        loop {
            let read = self.read(&inlet, &mut backoff, &mut events_after).await;
            let Err(error) = read else { return };
            self.server.doubt().await;
            if !pause_after(error, &self.channel, &inlet, &mut backoff).await {
                return;
            }
        }
    }

    async fn read(
        &self,
        inlet: &Inlet,
        backoff: &mut Backoff,
        events_after: &mut u64,
    ) -> Result<(), BrokerError> {
        let context = self.server.context().await?;
        let stream = stream::make(&self.names, &self.server, &context, &self.channel).await?;
        let consumer =
            stream::consumer(&self.names, &self.server, &stream, &self.channel, *events_after)
                .await?;
        let origin = stream.cached_info().created.unix_timestamp_nanos().to_string();
        let next_progress = Instant::now() + self.names.redeliver_after / 3;
        let mut reading = Reading { context, consumer, origin, next_progress, unended: None };
        backoff.succeeded();
        while !inlet.is_closed() {
            self.request(&mut reading, inlet, events_after).await?;
        }
        Ok(())
    }

    /// Asks for messages once, and hands on what comes until the request has ended.
    async fn request(
        &self,
        reading: &mut Reading,
        inlet: &Inlet,
        events_after: &mut u64,
    ) -> Result<(), BrokerError> {
        let mut waiting = Vec::new();
        let requested = self.hand_on(reading, inlet, events_after, &mut waiting).await;
        // What nobody was given is not being worked on: the server is to deliver it again.
        let subjects = waiting.iter().filter_map(|(_, delivery)| match &delivery.receipt.token {
            Token::Subject(subject) => Some(subject),
            _ => None,
        });
        self.held.forget(&self.channel, subjects);
        requested
    }

    async fn hand_on(
        &self,
        reading: &mut Reading,
        inlet: &Inlet,
        events_after: &mut u64,
        waiting: &mut Vec<(u64, Delivery)>,
    ) -> Result<(), BrokerError> {
        let mut messages = reading
            .consumer
            .batch()
            .max_messages(self.names.prefetch)
            .expires(REQUEST)
            .messages()
            .await
            .map_err(|error| self.server.lost(error))?;
        let ended = Instant::now() + REQUEST_ENDED;
        let mut unended = reading.unended.take();
        let (mut open, mut heard) = (true, false);
        while open || !waiting.is_empty() {
            tokio::select! {
                message = messages.next(), if open => {
                    let mut next = Some(message);
                    // All that has arrived goes together.
                    while let Some(message) = next {
                        match message {
                            Some(Ok(message)) => waiting.push(self.delivery(reading, message)?),
                            Some(Err(error)) => return Err(self.server.lost(error)),
                            None => {
                                (open, heard) = (false, true);
                                break;
                            }
                        }
                        next = messages.next().now_or_never();
                    }
                }
                message = next_of(&mut unended), if unended.is_some() => match message {
                    Some(Ok(message)) => waiting.push(self.delivery(reading, message)?),
                    Some(Err(_)) | None => unended = None,
                },
                permit = inlet.reserve(), if !waiting.is_empty() => {
                    let Ok(permit) = permit else { return Ok(()) };
                    if let Some(last) = waiting.iter().map(|(sequence, _)| *sequence).max() {
                        *events_after = last;
                    }
                    let batch = std::mem::take(waiting);
                    permit.send(Ok(batch.into_iter().map(|(_, delivery)| delivery).collect()));
                }
                () = tokio::time::sleep_until(reading.next_progress) => {
                    self.show_progress(reading).await?;
                }
                () = tokio::time::sleep_until(ended), if open => open = false,
            }
        }
        if !heard {
            reading.unended = Some(messages);
        }
        Ok(())
    }

    fn delivery(
        &self,
        reading: &Reading,
        message: Message,
    ) -> Result<(u64, Delivery), BrokerError> {
        let info = message.info().map_err(|error| self.server.lost(error))?;
        let (sequence, redelivered) = (info.stream_sequence, info.delivered > 1);
        let header = |name: &str| {
            let headers = message.headers.as_ref()?;
            headers.get(name).map(|value| value.as_str().to_owned())
        };
        let own = || format!("{}-{sequence}", reading.origin);
        let id = MessageId::new(header("Nats-Msg-Id").unwrap_or_else(own));
        let error = match self.channel {
            Channel::Dead => header("Bellwether-Error"),
            Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Events => None,
        };
        let token = match (&self.channel, message.reply.clone()) {
            (Channel::Events, _) | (_, None) => Token::Settled,
            (_, Some(subject)) => {
                self.held.take(&self.channel, [subject.clone()]);
                Token::Subject(subject)
            }
        };
        let receipt = Receipt { channel: self.channel.clone(), token };
        let body = message.message.payload;
        Ok((sequence, Delivery { id: Some(id), body, priority: None, redelivered, error, receipt }))
    }

    async fn show_progress(&self, reading: &mut Reading) -> Result<(), BrokerError> {
        reading.next_progress = Instant::now() + self.names.redeliver_after / 3;
        let client = reading.context.client();
        for subject in self.held.all(&self.channel) {
            let subject: Subject = subject;
            client
                .publish(subject, "+WPI".into())
                .await
                .map_err(|error| self.server.lost(error))?;
        }
        Ok(())
    }
}

/// Of none there is never a next one.
async fn next_of(messages: &mut Option<Batch>) -> Option<<Batch as Stream>::Item> {
    match messages {
        Some(messages) => messages.next().await,
        None => std::future::pending().await,
    }
}
