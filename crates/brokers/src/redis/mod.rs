//! Redis streams: a consumer group takes messages, and what a dead consumer left unsettled is
//! claimed by the next.
//!
//! An entry has the message in its field `body`; beside it `id` and, of dead letters, `error` and
//! `channel`. An entry without `body` is read as a JSON object of its fields, so that
//! `XADD kai-job:jobs * type resize priority high` is a job.
//!
//! Redis has no priorities, and is as durable as it is configured (`appendonly`, `appendfsync`).

mod connection;
mod entry;
mod group;
mod held;
mod log;
mod report;
mod write;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::broker::{Answer, Broker};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::Intakes;
use crate::message::{Delivery, Outgoing, Settlement};
use crate::promises::{Delivered, Identity, Promises};
use crate::report::Report;
use crate::settings::{DispatchBy, RedisSettings, Settings};
use connection::{Link, Server};
use held::Held;

/// The consumer group of every channel.
const GROUP: &str = "bellwether";

/// How long a read waits in the server, and so how soon a message that was given back is seen.
const BLOCK: Duration = Duration::from_millis(200);

/// A queue on one Redis server.
#[derive(Debug)]
pub(crate) struct Redis {
    names: Arc<Names>,
    server: Arc<Server>,
    link: Link,
    intakes: Intakes,
    held: Arc<Held>,
}

/// What is called how, and the limits.
#[derive(Debug)]
struct Names {
    prefix: String,
    consumer: String,
    redeliver_after: Duration,
    prefetch: usize,
    events_max: u64,
    dispatch_by: DispatchBy,
    trim: bool,
}

impl Names {
    fn key(&self, channel: &Channel) -> String {
        format!("{}:{channel}", self.prefix)
    }
}

impl Redis {
    pub(crate) fn new(settings: &Settings, redis: &RedisSettings) -> Result<Self, BrokerError> {
        let names = Names {
            prefix: settings.stream_prefix.clone(),
            consumer: settings.consumer.clone(),
            redeliver_after: settings.redeliver_after,
            prefetch: settings.prefetch,
            events_max: settings.events_max,
            dispatch_by: redis.dispatch_by,
            trim: redis.trim,
        };
        let server = Arc::new(Server::new(redis, settings.timeout)?);
        Ok(Self {
            names: Arc::new(names),
            link: Link::new(Arc::clone(&server)),
            server,
            intakes: Intakes::default(),
            held: Arc::new(Held::default()),
        })
    }

    async fn fetch(
        channel: Channel,
        names: Arc<Names>,
        server: Arc<Server>,
        held: Arc<Held>,
        inlet: crate::intake::Inlet,
    ) {
        match (&channel, names.dispatch_by) {
            (Channel::Events, _) => log::follow(&names, &server, &channel, inlet).await,
            (Channel::Dispatch(_), DispatchBy::Publish) => {
                log::subscribe(&names, &server, &channel, inlet).await;
            }
            (Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Dead, _) => {
                group::Reader::new(names, server, held, channel).run(inlet).await;
            }
        }
    }
}

impl Broker for Redis {
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
            let (names, server) = (Arc::clone(&self.names), Arc::clone(&self.server));
            Self::fetch(channel.clone(), names, server, Arc::clone(&self.held), inlet)
        };
        self.intakes.receive(channel, max, start).boxed()
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Answer<'_, ()> {
        write::settle(&self.names, &self.link, &self.held, settlements).boxed()
    }

    fn publish(&self, messages: Vec<Outgoing>) -> Answer<'_, ()> {
        write::publish(&self.names, &self.link, messages).boxed()
    }

    fn backlog<'a>(&'a self, channel: &'a Channel) -> Answer<'a, Option<u64>> {
        report::backlog(&self.names, &self.link, channel).map(|count| count.map(Some)).boxed()
    }

    fn check(&self) -> BoxFuture<'_, Report> {
        report::check(&self.names, &self.server, &self.link).boxed()
    }
}
