//! Settling and publishing, a whole batch on its way before the first answer is awaited.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use lapin::options::{BasicAckOptions, BasicNackOptions, BasicPublishOptions, BasicQosOptions};
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use lapin::{Acker, BasicProperties};

use super::connection::{Link, Server};
use super::{Names, PRIORITY_MAX, PRIORITY_STEP, topology};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::{Delivery, MessageId, Outgoing, Receipt, Settlement, Token};

const PERSISTENT: u8 = 2;

/// A message ready to go.
struct Letter {
    exchange: String,
    queue: String,
    body: bytes::Bytes,
    properties: BasicProperties,
}

pub(super) async fn publish(
    names: &Names,
    server: &Server,
    messages: Vec<Outgoing>,
) -> Result<(), BrokerError> {
    let link = server.link().await?;
    let mut letters = Vec::with_capacity(messages.len());
    for message in messages {
        let making = topology::make(names, server, &link, &message.channel);
        let queue = server.within(making).await?;
        let mut properties = properties(message.id.as_ref())?;
        if let Some(priority) = message.priority {
            let level = (priority / PRIORITY_STEP).min(PRIORITY_MAX);
            properties = properties.with_priority(level);
        }
        letters.push(Letter { exchange: String::new(), queue, body: message.body, properties });
    }
    send(server, &link, letters).await
}

fn properties(id: Option<&MessageId>) -> Result<BasicProperties, BrokerError> {
    let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
    let Some(id) = id else { return Ok(properties) };
    let id = ShortString::try_new(id.as_str())
        .map_err(|error| BrokerError::misuse(format!("message id {id}: {error}")))?;
    Ok(properties.with_message_id(id))
}

async fn send(server: &Server, link: &Link, letters: Vec<Letter>) -> Result<(), BrokerError> {
    let result = server.within(confirmed(server, link, letters)).await;
    if matches!(result, Err(BrokerError::Lost { .. })) {
        server.drop_link().await;
    }
    result
}

async fn confirmed(server: &Server, link: &Link, letters: Vec<Letter>) -> Result<(), BrokerError> {
    let explain = |error: lapin::Error| server.failure(&error);
    let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let mut confirmations = Vec::with_capacity(letters.len());
    for letter in letters {
        let confirmation = link
            .publisher
            .basic_publish(
                letter.exchange.as_str().into(),
                letter.queue.as_str().into(),
                mandatory,
                &letter.body,
                letter.properties,
            )
            .await
            .map_err(explain)?;
        confirmations.push(confirmation);
    }
    for confirmation in confirmations {
        let confirmation = confirmation.await.map_err(explain)?;
        if !confirmation.is_ack() || confirmation.take_message().is_some() {
            // A queue is gone or full: look again which there are.
            link.declared.lock().await.clear();
            return Err(BrokerError::lost(server.name(), "a message was not taken"));
        }
    }
    Ok(())
}

pub(super) async fn settle(
    names: &Names,
    server: &Server,
    settlements: Vec<Settlement>,
) -> Result<(), BrokerError> {
    let mut letters = Vec::new();
    let mut settling = Settling::default();
    for settlement in settlements {
        match settlement {
            Settlement::Done(receipt) => settling.add(receipt, Word::Acknowledge),
            Settlement::Release(receipt) => settling.add(receipt, Word::GiveBack),
            Settlement::DeadLetter { delivery, error } => {
                letters.push(letter(names, &delivery, &error)?);
                settling.add(delivery.receipt, Word::Acknowledge);
            }
        }
    }
    if !letters.is_empty() {
        // The copies first: an original may go only when its copy is safe.
        let link = server.link().await?;
        server.within(topology::make(names, server, &link, &Channel::Dead)).await?;
        send(server, &link, letters).await?;
    }
    server.within(settling.say(server)).await
}

fn letter(names: &Names, delivery: &Delivery, error: &str) -> Result<Letter, BrokerError> {
    let mut headers = FieldTable::default();
    let text = |text: &str| AMQPValue::LongString(LongString::from(text));
    headers.insert("x-error".into(), text(error));
    headers.insert("x-channel".into(), text(&delivery.receipt.channel.to_string()));
    Ok(Letter {
        exchange: names.dead_letter_exchange(),
        queue: String::new(),
        body: delivery.body.clone(),
        properties: properties(delivery.id.as_ref())?.with_headers(headers),
    })
}

#[derive(Clone, Copy)]
enum Word {
    Acknowledge,
    GiveBack,
}

/// What is to be said about which message.
#[derive(Default)]
struct Settling {
    said: Vec<(Acker, Word)>,
    /// By number, those on which something is said.
    channels: HashMap<u16, Arc<lapin::Channel>>,
}

impl Settling {
    fn add(&mut self, receipt: Receipt, word: Word) {
        if let Token::Tag(acker, channel) = receipt.token {
            self.channels.entry(channel.id()).or_insert(channel);
            self.said.push((acker, word));
        }
    }

    async fn say(self, server: &Server) -> Result<(), BrokerError> {
        let saying = self.said.iter().map(|(acker, word)| async move {
            match word {
                Word::Acknowledge => acker.ack(BasicAckOptions::default()).await,
                Word::GiveBack => {
                    let requeue = BasicNackOptions { requeue: true, ..BasicNackOptions::default() };
                    acker.nack(requeue).await
                }
            }
        });
        let mut all = true;
        for result in join_all(saying).await {
            all &= result.map_err(|error| server.failure(&error))?;
        }
        // Acknowledgements have no answer, but the server answers in order: once it has answered
        // this, it has taken in what was said before.
        for channel in self.channels.values().filter(|channel| channel.status().connected()) {
            let unsettled = u16::MAX;
            channel
                .basic_qos(unsettled, BasicQosOptions::default())
                .await
                .map_err(|error| server.failure(&error))?;
        }
        if all {
            return Ok(());
        }
        let reason = "the connection on which the message came is gone";
        Err(BrokerError::lost(server.name(), reason))
    }
}
