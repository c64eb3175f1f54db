//! NATS JetStream: durable pull consumers on streams that keep a message until it is acknowledged.
//!
//! A subject that some stream of the server already keeps is read from there; else a stream of our
//! own is made for it, `<prefix>-jobs` and so on. What is held here is shown to be in progress before
//! the acknowledgement would be due. A publisher that sets `Nats-Msg-Id` may send twice.
//!
//! JetStream has no priorities.

mod connection;
mod fetch;
mod held;
mod report;
mod stream;
mod write;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::broker::{Answer, Broker};
use crate::channel::Channel;
use crate::intake::Intakes;
use crate::message::{Delivery, Outgoing, Settlement};
use crate::promises::{Delivered, Identity, Promises};
use crate::report::Report;
use crate::settings::{NatsSettings, Settings};
use connection::Server;
use held::Held;

/// A queue on one NATS server or cluster.
#[derive(Debug)]
pub(crate) struct Nats {
    names: Arc<Names>,
    server: Arc<Server>,
    intakes: Intakes,
    held: Arc<Held>,
}

/// What is called how, and the limits.
#[derive(Debug)]
struct Names {
    prefix: String,
    redeliver_after: Duration,
    prefetch: usize,
    events_max: u64,
}

impl Names {
    /// What a message of this channel is published under.
    fn subject(&self, channel: &Channel) -> String {
        match channel {
            Channel::Dispatch(worker) => {
                format!("{}.dispatch.{}", self.prefix, token(worker.as_str()))
            }
            Channel::Jobs | Channel::Replies | Channel::Events | Channel::Dead => {
                format!("{}.{}", self.prefix, channel.kind())
            }
        }
    }

    /// The stream that is made if the server has none for the subject.
    fn stream(&self, channel: &Channel) -> String {
        format!("{}-{}", self.prefix, channel.kind())
    }

    /// The durable consumer of a channel.
    fn consumer(&self, channel: &Channel) -> String {
        match channel {
            Channel::Dispatch(worker) => {
                format!("{}-dispatch-{}", self.prefix, token(worker.as_str()))
            }
            Channel::Jobs | Channel::Replies | Channel::Events | Channel::Dead => {
                format!("{}-{}", self.prefix, channel.kind())
            }
        }
    }
}

/// A name as one token of a subject: letters, digits, `-` and `_` stand for themselves, every other
/// byte is written as `%` and two hexadecimal digits.
fn token(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

impl Nats {
    pub(crate) fn new(settings: &Settings, nats: &NatsSettings) -> Self {
        let names = Names {
            prefix: settings.stream_prefix.clone(),
            redeliver_after: settings.redeliver_after,
            prefetch: settings.prefetch,
            events_max: settings.events_max,
        };
        Self {
            names: Arc::new(names),
            server: Arc::new(Server::new(nats.clone(), settings.timeout)),
            intakes: Intakes::default(),
            held: Arc::new(Held::default()),
        }
    }
}

impl Broker for Nats {
    fn promises(&self) -> Promises {
        Promises {
            delivered: Delivered::AtLeastOnce,
            durable: true,
            priorities: false,
            identity: Identity::Always,
        }
    }

    fn receive<'a>(&'a self, channel: &'a Channel, max: usize) -> Answer<'a, Vec<Delivery>> {
        let start = |inlet| {
            let fetch = fetch::Fetch {
                names: Arc::clone(&self.names),
                server: Arc::clone(&self.server),
                held: Arc::clone(&self.held),
                channel: channel.clone(),
            };
            fetch.run(inlet)
        };
        self.intakes.receive(channel, max, start).boxed()
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Answer<'_, ()> {
        write::settle(&self.names, &self.server, &self.held, settlements).boxed()
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

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn a_name_of_a_worker_is_one_token() {
        assert_eq!(token("worker-1"), "worker-1");
        assert_eq!(token("a.b*c>"), "a%2Eb%2Ac%3E");
    }
}
