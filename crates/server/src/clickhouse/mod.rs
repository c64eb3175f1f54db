//! Decisions and executions in ClickHouse, for those who ask questions about months of them, and
//! back from there for predictions of types that have no history here.
//!
//! Rows wait in a bounded buffer and are sent in batches from a thread of their own. While
//! ClickHouse is away the oldest are dropped and counted. A row is sent at least once and has a key
//! made of its place in the journal, so sending it again changes nothing.
//!
//! Deliberately absent: anything that scheduling waits for.

mod buffer;
mod cursor;
mod names;
mod row;
mod rows;
mod schema;
mod sender;
mod warm;

use std::path::Path;
use std::sync::Arc;

use clickhouse::Client;

use crate::config::ClickHouse;
use crate::metrics::Metrics;
use buffer::Buffer;
use cursor::Cursor;
pub(crate) use rows::Rows;
pub(crate) use sender::Sender;
pub(crate) use warm::remembered;

/// The thread that sends.
#[derive(Debug)]
pub(crate) struct Sending {
    buffer: Arc<Buffer>,
    thread: std::thread::JoinHandle<()>,
}

/// What is to be made rows of, and who sends them. `head` is the journal's last position.
pub(crate) fn prepare(
    config: &ClickHouse,
    data_dir: &Path,
    head: bellwether_core::model::Seq,
    metrics: Arc<Metrics>,
) -> (Rows, Sender) {
    let cursor = Cursor::load(data_dir, head);
    let buffer = Arc::new(Buffer::new(config.buffer_rows, metrics));
    let rows = Rows::new(buffer.clone(), &cursor);
    (rows, Sender::new(config, buffer, cursor))
}

impl Sending {
    pub(crate) fn start(sender: Sender) -> std::io::Result<Sending> {
        let buffer = sender.buffer();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread =
            std::thread::Builder::new().name("clickhouse".to_owned()).spawn(move || {
                crate::priority::give_way();
                runtime.block_on(sender.run());
            })?;
        Ok(Sending { buffer, thread })
    }

    /// Sends what there is, if that does not take long.
    pub(crate) fn close(self) {
        self.buffer.close();
        if self.thread.join().is_err() {
            tracing::error!("the thread that writes to ClickHouse panicked");
        }
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
