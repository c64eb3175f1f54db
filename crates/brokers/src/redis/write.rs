//! Settling and publishing, each batch in one or two round trips.

use std::collections::HashMap;

use redis::{Pipeline, Value};

use super::connection::Link;
use super::entry::Addition;
use super::held::Held;
use super::{GROUP, Names};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::{Outgoing, Receipt, Settlement, Token, may_be_published};
use crate::settings::DispatchBy;

/// A worker that is far behind has lost these offers anyway: they have long expired.
const DISPATCHES_MAX: u64 = 10_000;

/// Entries to settle, by channel.
type Entries = HashMap<Channel, Vec<String>>;

pub(super) async fn publish(
    names: &Names,
    link: &Link,
    messages: Vec<Outgoing>,
) -> Result<(), BrokerError> {
    may_be_published(&messages)?;
    let mut pipeline = Pipeline::with_capacity(messages.len());
    for message in &messages {
        let key = names.key(&message.channel);
        let kept = match &message.channel {
            Channel::Dispatch(_) if names.dispatch_by == DispatchBy::Publish => {
                pipeline.cmd("PUBLISH").arg(&key).arg(&message.body[..]).ignore();
                continue;
            }
            Channel::Dispatch(_) => Some(DISPATCHES_MAX),
            Channel::Events => Some(names.events_max),
            Channel::Jobs | Channel::Replies | Channel::Dead => None,
        };
        let id = message.id.as_ref();
        Addition { key: &key, kept, id, body: &message.body, dead: None }.add_to(&mut pipeline);
    }
    run(link, pipeline, messages.len()).await
}

pub(super) async fn settle(
    names: &Names,
    link: &Link,
    held: &Held,
    settlements: Vec<Settlement>,
) -> Result<(), BrokerError> {
    let mut letters = Pipeline::new();
    let mut count = 0;
    let (mut done, mut released) = (Entries::new(), Entries::new());
    let dead = names.key(&Channel::Dead);
    for settlement in settlements {
        match settlement {
            Settlement::Done(receipt) => add(&mut done, receipt),
            Settlement::Release(receipt) => add(&mut released, receipt),
            Settlement::DeadLetter { delivery, error } => {
                let letter = Addition {
                    key: &dead,
                    kept: None,
                    id: delivery.id.as_ref(),
                    body: &delivery.body,
                    dead: Some((&error, delivery.receipt.channel())),
                };
                letter.add_to(&mut letters);
                count += 1;
                add(&mut done, delivery.receipt);
            }
        }
    }
    for (channel, ids) in &released {
        held.give_back(channel, ids.iter().map(String::as_str));
    }
    // The copies first: an original may go only when its copy is safe.
    let mut result = run(link, letters, count).await;
    if result.is_ok() {
        result = acknowledge(names, link, &done).await;
    }
    if matches!(result, Err(BrokerError::Lost { .. })) && count == 0 {
        // To say it twice does no harm, and the server may be back already.
        result = acknowledge(names, link, &done).await;
    }
    for (channel, ids) in &done {
        let ids = ids.iter().map(String::as_str);
        match result {
            Ok(()) => held.settled(channel, ids),
            Err(_) => held.give_back(channel, ids),
        }
    }
    result
}

fn add(entries: &mut Entries, receipt: Receipt) {
    if let Token::Entry(id) = receipt.token {
        entries.entry(receipt.channel).or_default().push(id);
    }
}

async fn acknowledge(names: &Names, link: &Link, done: &Entries) -> Result<(), BrokerError> {
    let mut pipeline = Pipeline::new();
    for (channel, ids) in done {
        let key = names.key(channel);
        pipeline.cmd("XACK").arg(&key).arg(GROUP).arg(ids).ignore();
        match channel {
            // Streams that only we read do not keep what was settled.
            Channel::Dispatch(_) | Channel::Dead => {
                pipeline.cmd("XDEL").arg(&key).arg(ids).ignore();
            }
            Channel::Jobs | Channel::Replies | Channel::Events => {}
        }
    }
    run(link, pipeline, done.len()).await
}

async fn run(link: &Link, pipeline: Pipeline, count: usize) -> Result<(), BrokerError> {
    if count == 0 {
        return Ok(());
    }
    let mut connection = link.connection().await?;
    match pipeline.query_async::<Value>(&mut connection).await {
        Ok(_) => Ok(()),
        Err(error) => Err(link.failed(&error).await),
    }
}
