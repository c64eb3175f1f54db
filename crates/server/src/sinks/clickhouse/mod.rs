//! Decisions and executions in ClickHouse, for those who ask questions about months of them, and
//! back from there for predictions of types that have no history here.
//!
//! Rows wait in a bounded buffer and are sent in batches from a thread of their own. While
//! ClickHouse is away the oldest are dropped and counted. A row is sent at least once and has a key
//! made of its place in the journal, so sending it again changes nothing.
//!
//! Deliberately absent: anything that scheduling waits for.

mod cursor;
mod outlet;
mod row;
mod rows;
mod schema;
mod warm;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bellwether_core::model::{Name, Seq};
use clickhouse::Client;

use crate::config::ClickHouse;
use crate::projections::telemetry::buffer::Buffer;
use crate::projections::telemetry::outlet::{Duty, Sending};
use crate::sinks::metrics::{Metrics, Sink};
use cursor::Cursor;
use outlet::Tables;
pub(crate) use row::Row;
pub(crate) use rows::Rows;
pub(crate) use warm::remembered;

/// What will be sent to, once the past is known.
#[derive(Debug)]
pub(crate) struct Prepared {
    tables: Tables,
    buffer: Arc<Buffer<Row>>,
    interval: Duration,
}

/// What makes rows, and what sends them. `head` is the journal's last position; `stream` is what
/// several schedulers call the journal that they share.
pub(crate) fn prepare(
    config: &ClickHouse,
    data_dir: &Path,
    stream: Option<Name>,
    head: Seq,
    metrics: Arc<Metrics>,
) -> (Rows, Prepared) {
    let cursor = Cursor::load(data_dir, stream, head);
    let buffer = Arc::new(Buffer::new(Sink::ClickHouse, config.buffer_rows, metrics));
    let rows = Rows::new(buffer.clone(), &cursor);
    let tables = Tables::new(config, cursor);
    (rows, Prepared { tables, buffer, interval: config.flush_interval })
}

impl Prepared {
    pub(crate) fn start(self, duty: Duty) -> std::io::Result<Sending<Row>> {
        Sending::start(self.tables, self.buffer, self.interval, duty)
    }
}

/// Without its checks of types, which old servers can't answer and which cost a third of the speed.
fn client(config: &ClickHouse) -> Client {
    let mut client = Client::default().with_url(&config.url).with_validation(false);
    if let Some(user) = &config.user {
        client = client.with_user(user);
    }
    if let Some(password) = &config.password {
        client = client.with_password(password.reveal());
    }
    client
}
