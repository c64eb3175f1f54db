//! Settling and publishing.

use std::collections::HashMap;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, Subject};
use bytes::Bytes;

use super::Names;
use super::connection::Server;
use super::held::Held;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::{Delivery, Outgoing, Receipt, Settlement, Token};

/// So many messages are on their way before their confirmations are awaited.
const UNCONFIRMED_MAX: usize = 1000;

const ACKNOWLEDGED: Bytes = Bytes::from_static(b"+ACK");
const GIVEN_BACK: Bytes = Bytes::from_static(b"-NAK");

/// What is to be said about which message, in order, by channel.
type Answers = HashMap<Channel, Vec<(Subject, Bytes)>>;

pub(super) async fn publish(
    names: &Names,
    server: &Server,
    messages: Vec<Outgoing>,
) -> Result<(), BrokerError> {
    let messages = messages.into_iter().map(|message| {
        let mut publish = PublishMessage::build().payload(message.body);
        if let Some(id) = &message.id {
            publish = publish.message_id(id.as_str());
        }
        (message.channel, publish)
    });
    send(names, server, messages.collect()).await
}

async fn send(
    names: &Names,
    server: &Server,
    messages: Vec<(Channel, PublishMessage)>,
) -> Result<(), BrokerError> {
    let mut messages = messages.into_iter().peekable();
    while messages.peek().is_some() {
        let mut confirmations = Vec::new();
        let breaks = server.breaks();
        let mut last: Option<(Channel, Context, Subject)> = None;
        for (channel, message) in messages.by_ref().take(UNCONFIRMED_MAX) {
            let known = last.take().filter(|(of, ..)| *of == channel);
            let (_, context, subject) = match known {
                Some(known) => last.insert(known),
                None => {
                    let context = server.context_for(names, &channel).await?;
                    let subject = Subject::from(names.subject(&channel));
                    last.insert((channel, context, subject))
                }
            };
            let sent = context.send_publish(subject.clone(), message).await;
            confirmations.push(sent.map_err(|error| failure(server, &error))?);
        }
        let confirmed = async {
            for confirmation in confirmations {
                confirmation.await.map_err(|error| failure(server, &error))?;
            }
            Ok(())
        };
        if let Err(error) = server.unless_broken(breaks, confirmed).await {
            server.doubt().await;
            return Err(error);
        }
    }
    Ok(())
}

fn failure(server: &Server, error: &async_nats::jetstream::context::PublishError) -> BrokerError {
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => {
            server.refused(error, "raise max_payload in the server's configuration")
        }
        _ => server.lost(error),
    }
}

pub(super) async fn settle(
    names: &Names,
    server: &Server,
    held: &Held,
    settlements: Vec<Settlement>,
) -> Result<(), BrokerError> {
    let mut letters = Vec::new();
    let mut answers = Answers::new();
    for settlement in settlements {
        match settlement {
            Settlement::Done(receipt) => add(&mut answers, receipt, ACKNOWLEDGED),
            Settlement::Release(receipt) => add(&mut answers, receipt, GIVEN_BACK),
            Settlement::DeadLetter { delivery, error } => {
                letters.push((Channel::Dead, letter(&delivery, &error)));
                add(&mut answers, delivery.receipt, ACKNOWLEDGED);
            }
        }
    }
    for (channel, said) in &answers {
        held.forget(channel, said.iter().map(|(subject, _)| subject));
    }
    // The copies first: an original may go only when its copy is safe.
    send(names, server, letters).await?;
    let client = server.context().await?.client();
    for said in answers.into_values() {
        say(server, &client, said).await?;
    }
    Ok(())
}

fn letter(delivery: &Delivery, error: &str) -> PublishMessage {
    // A header is one line.
    let error: String = error.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut letter = PublishMessage::build()
        .payload(delivery.body.clone())
        .header("Bellwether-Error", error.as_str())
        .header("Bellwether-Channel", delivery.receipt.channel.to_string().as_str());
    if let Some(id) = &delivery.id {
        letter = letter.message_id(id.as_str());
    }
    letter
}

fn add(answers: &mut Answers, receipt: Receipt, word: Bytes) {
    if let Token::Subject(subject) = receipt.token {
        answers.entry(receipt.channel).or_default().push((subject, word));
    }
}

/// Says all, and waits for the answer to the last: the server takes them in order.
async fn say(
    server: &Server,
    client: &Client,
    mut said: Vec<(Subject, Bytes)>,
) -> Result<(), BrokerError> {
    let Some((last_subject, last_word)) = said.pop() else { return Ok(()) };
    let breaks = server.breaks();
    for (subject, word) in said {
        client.publish(subject, word).await.map_err(|error| server.lost(error))?;
    }
    let answered = async {
        let answer = client.request(last_subject, last_word).await;
        answer.map(drop).map_err(|error| server.lost(error))
    };
    server.unless_broken(breaks, answered).await
}
