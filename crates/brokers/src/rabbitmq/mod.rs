//! RabbitMQ over AMQP 0-9-1: durable queues, publisher confirms, and a dead-letter exchange.
//!
//! A queue that exists is used as it is; else one is made, a quorum queue unless configured
//! otherwise. The events are a RabbitMQ stream, so that every reader sees all of them. A message has
//! an id only if its publisher sets the property `message_id`.
//!
//! Classic queues have priorities from 0 to 10: ten of ours make one of theirs.

mod connection;
mod fetch;
mod handshake;
mod report;
mod topology;
mod write;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::broker::{Answer, Broker};
use crate::channel::Channel;
use crate::intake::Intakes;
use crate::message::{Delivery, Outgoing, Settlement};
use crate::promises::{Delivered, Identity, Promises};
use crate::report::Report;
use crate::settings::{QueueKind, RabbitMqSettings, Settings};
use connection::Server;

/// So many of our priorities make one of RabbitMQ's.
const PRIORITY_STEP: u8 = 10;
const PRIORITY_MAX: u8 = 10;

/// A queue on one RabbitMQ server or cluster.
#[derive(Debug)]
pub(crate) struct RabbitMq {
    names: Arc<Names>,
    server: Arc<Server>,
    intakes: Intakes,
}

/// What is called how, and the limits.
#[derive(Debug)]
struct Names {
    prefix: String,
    queues: QueueKind,
    prefetch: usize,
    events_max: u64,
}

impl Names {
    fn queue(&self, channel: &Channel) -> String {
        match channel {
            Channel::Dispatch(worker) => format!("{}.dispatch.{worker}", self.prefix),
            Channel::Jobs | Channel::Replies | Channel::Events | Channel::Dead => {
                format!("{}.{}", self.prefix, channel.kind())
            }
        }
    }

    fn dead_letter_exchange(&self) -> String {
        format!("{}.dead", self.prefix)
    }
}

impl RabbitMq {
    pub(crate) fn new(settings: &Settings, rabbit: &RabbitMqSettings) -> Self {
        let names = Names {
            prefix: settings.stream_prefix.clone(),
            queues: rabbit.queues,
            prefetch: settings.prefetch,
            events_max: settings.events_max,
        };
        Self {
            names: Arc::new(names),
            server: Arc::new(Server::new(rabbit.clone(), settings.timeout)),
            intakes: Intakes::default(),
        }
    }
}

impl Broker for RabbitMq {
    fn promises(&self) -> Promises {
        Promises {
            delivered: Delivered::AtLeastOnce,
            durable: true,
            priorities: self.names.queues == QueueKind::Classic,
            identity: Identity::FromPublisher,
        }
    }

    fn receive<'a>(&'a self, channel: &'a Channel, max: usize) -> Answer<'a, Vec<Delivery>> {
        let start = |inlet| {
            let fetch = fetch::Fetch {
                names: Arc::clone(&self.names),
                server: Arc::clone(&self.server),
                channel: channel.clone(),
            };
            fetch.run(inlet)
        };
        self.intakes.receive(channel, max, start).boxed()
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Answer<'_, ()> {
        write::settle(&self.names, &self.server, settlements).boxed()
    }

    fn publish(&self, messages: Vec<Outgoing>) -> Answer<'_, ()> {
        if let Err(error) = crate::message::may_be_published(&messages) {
            return std::future::ready(Err(error)).boxed();
        }
        write::publish(&self.names, &self.server, messages).boxed()
    }

    fn backlog<'a>(&'a self, channel: &'a Channel) -> Answer<'a, Option<u64>> {
        report::backlog(&self.names, &self.server, channel).map(|count| count.map(Some)).boxed()
    }

    fn check(&self) -> BoxFuture<'_, Report> {
        report::check(&self.names, &self.server).boxed()
    }
}
