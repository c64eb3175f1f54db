//! A queue in a SQLite file in WAL mode: other processes of this machine insert rows into a table.
//!
//! A row stays where it is until it is settled, so nothing has to be written to hand it out, and a
//! reader that dies leaves nothing behind to clean up. Each channel has one reader at a time, which
//! holds a lock file that the kernel frees with the process; others stand by.
//!
//! Readers sleep until the write-ahead log changes. There is no server, hence no network.

mod connection;
mod fetch;
mod lock;
mod report;
mod table;
mod watch;
mod writer;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use crate::broker::{Answer, Broker};
use crate::channel::Channel;
use crate::intake::Intakes;
use crate::message::{Delivery, Outgoing, Settlement};
use crate::promises::{Delivered, Identity, Promises};
use crate::report::Report;
use crate::settings::{Settings, SqliteSettings};
use writer::Writer;

/// One open file, or one that will be opened as soon as it is used.
#[derive(Debug)]
pub(crate) struct Sqlite {
    place: Place,
    prefetch: usize,
    intakes: Intakes,
    released: Arc<Released>,
    writer: Writer,
}

/// What is needed to open the file and find our tables in it.
#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    prefix: String,
    timeout: Duration,
    events_max: u64,
}

/// Rows that must be handed out again, because they were given back or could not be settled.
#[derive(Debug, Default)]
struct Released {
    rows: Mutex<HashMap<Channel, Vec<i64>>>,
    changed: Notify,
}

impl Released {
    fn add(&self, rows: impl IntoIterator<Item = (Channel, i64)>) {
        {
            let mut by_channel = self.rows.lock().expect("no holder of this lock panics");
            for (channel, row) in rows {
                by_channel.entry(channel).or_default().push(row);
            }
        }
        self.changed.notify_waiters();
    }

    fn take(&self, channel: &Channel) -> Vec<i64> {
        self.rows.lock().expect("no holder of this lock panics").remove(channel).unwrap_or_default()
    }

    fn any(&self, channel: &Channel) -> bool {
        self.rows.lock().expect("no holder of this lock panics").contains_key(channel)
    }
}

impl Sqlite {
    pub(crate) fn new(settings: &Settings, sqlite: SqliteSettings) -> Self {
        let place = Place {
            path: sqlite.path,
            prefix: settings.stream_prefix.clone(),
            timeout: settings.timeout,
            events_max: settings.events_max,
        };
        let released = Arc::new(Released::default());
        let writer = Writer::start(place.clone(), Arc::clone(&released));
        Self { place, prefetch: settings.prefetch, intakes: Intakes::default(), released, writer }
    }
}

impl Broker for Sqlite {
    fn promises(&self) -> Promises {
        Promises {
            delivered: Delivered::AtLeastOnce,
            durable: true,
            priorities: true,
            identity: Identity::Always,
        }
    }

    fn receive<'a>(&'a self, channel: &'a Channel, max: usize) -> Answer<'a, Vec<Delivery>> {
        let start = |inlet| {
            let fetch = fetch::Fetch {
                place: self.place.clone(),
                channel: channel.clone(),
                batch: self.prefetch,
                released: Arc::clone(&self.released),
            };
            fetch.run(inlet)
        };
        self.intakes.receive(channel, max, start).boxed()
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Answer<'_, ()> {
        self.writer.settle(settlements).boxed()
    }

    fn publish(&self, messages: Vec<Outgoing>) -> Answer<'_, ()> {
        if let Err(error) = crate::message::may_be_published(&messages) {
            return std::future::ready(Err(error)).boxed();
        }
        self.writer.publish(messages).boxed()
    }

    fn backlog<'a>(&'a self, channel: &'a Channel) -> Answer<'a, Option<u64>> {
        let (place, channel) = (self.place.clone(), channel.clone());
        connection::blocking(move || {
            let open = connection::open(&place)?;
            table::count(&open.connection, &place.prefix, &channel)
                .map(Some)
                .map_err(|error| place.failure(&error))
        })
        .boxed()
    }

    fn check(&self) -> BoxFuture<'_, Report> {
        let place = self.place.clone();
        async move { connection::blocking(move || Ok(report::check(&place))).await }
            .map(|report| report.expect("the check itself can't fail"))
            .boxed()
    }
}
