//! The task that reads one stream as a member of the consumer group.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{RedisError, Value};
use tokio::time::Instant;

use super::connection::Server;
use super::entry::{self, Entry};
use super::held::Held;
use super::{BLOCK, GROUP, Names};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::{Delivery, Token};

/// At most so many entries are claimed or kept at once.
const UPKEEP_BATCH: usize = 1000;

/// The most that streams are trimmed.
const TRIM_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Reader {
    names: Arc<Names>,
    server: Arc<Server>,
    held: Arc<Held>,
    channel: Channel,
    key: String,
}

/// Where one connection stands.
struct Reading {
    connection: MultiplexedConnection,
    /// Our own pending entries are read from here on, while there are any.
    pending_after: Option<String>,
    next_upkeep: Instant,
    next_trim: Instant,
}

fn entry_id(delivery: &Delivery) -> Option<&str> {
    match &delivery.receipt.token {
        Token::Entry(id) => Some(id),
        _ => None,
    }
}

impl Reader {
    pub(super) fn new(
        names: Arc<Names>,
        server: Arc<Server>,
        held: Arc<Held>,
        channel: Channel,
    ) -> Self {
        let key = names.key(&channel);
        Self { names, server, held, channel, key }
    }

    /// Reads until nobody wants to receive any more.
    pub(super) async fn run(self, inlet: Inlet) {
        let mut backoff = Backoff::default();
        loop {
            let Err(error) = self.read(&inlet, &mut backoff).await else { return };
            if !pause_after(error, &self.channel, &inlet, &mut backoff).await {
                return;
            }
        }
    }

    async fn read(&self, inlet: &Inlet, backoff: &mut Backoff) -> Result<(), BrokerError> {
        let explain = |error: RedisError| self.server.failure(&error);
        let mut connection = self.server.connect().await?;
        make_group(&mut connection, &self.key).await.map_err(explain)?;
        backoff.succeeded();
        let mut reading = Reading {
            connection,
            pending_after: Some("0".to_owned()),
            next_upkeep: Instant::now(),
            next_trim: Instant::now() + TRIM_PAUSE,
        };
        while !inlet.is_closed() {
            let batch = self.next(&mut reading).await.map_err(explain)?;
            if batch.is_empty() {
                continue;
            }
            loop {
                tokio::select! {
                    permit = inlet.reserve() => {
                        let Ok(permit) = permit else { return Ok(()) };
                        permit.send(Ok(batch));
                        break;
                    }
                    () = tokio::time::sleep_until(reading.next_upkeep) => {
                        if let Err(error) = self.keep_held(&mut reading).await {
                            self.give_back(&batch);
                            return Err(explain(error));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The next messages, or none after a short wait.
    async fn next(&self, reading: &mut Reading) -> Result<Vec<Delivery>, RedisError> {
        if self.held.given_back(&self.channel) && reading.pending_after.is_none() {
            reading.pending_after = Some("0".to_owned());
        }
        if let Some(after) = reading.pending_after.take() {
            let entries = self.read_group(&mut reading.connection, &after).await?;
            reading.pending_after = entries.last().map(|entry| entry.id.clone());
            return self.take(&mut reading.connection, entries, true).await;
        }
        if self.names.trim && reading.next_trim <= Instant::now() {
            reading.next_trim = Instant::now() + TRIM_PAUSE;
            trim(&mut reading.connection, &self.key).await?;
        }
        if reading.next_upkeep <= Instant::now() {
            self.keep_held(reading).await?;
            let claimed = self.claim(&mut reading.connection).await?;
            return self.take(&mut reading.connection, claimed, true).await;
        }
        let entries = self.read_group(&mut reading.connection, ">").await?;
        self.take(&mut reading.connection, entries, false).await
    }

    async fn read_group(
        &self,
        connection: &mut MultiplexedConnection,
        after: &str,
    ) -> Result<Vec<Entry>, RedisError> {
        let mut command = redis::cmd("XREADGROUP");
        command.arg("GROUP").arg(GROUP).arg(&self.names.consumer);
        command.arg("COUNT").arg(self.names.prefetch);
        if after == ">" {
            command.arg("BLOCK").arg(u64::try_from(BLOCK.as_millis()).unwrap_or(u64::MAX));
        }
        command.arg("STREAMS").arg(&self.key).arg(after);
        let answer: Value = command.query_async(connection).await?;
        Ok(entry::entries_of_read(answer))
    }

    /// Makes messages of entries that are not in our hands yet.
    async fn take(
        &self,
        connection: &mut MultiplexedConnection,
        entries: Vec<Entry>,
        redelivered: bool,
    ) -> Result<Vec<Delivery>, RedisError> {
        let mut deliveries = Vec::with_capacity(entries.len());
        for entry in entries {
            if entry.is_deleted() {
                if let Err(error) = acknowledge(connection, &self.key, &entry.id).await {
                    self.give_back(&deliveries);
                    return Err(error);
                }
            } else if self.held.take(&self.channel, &entry.id) {
                deliveries.push(entry.delivery(&self.channel, redelivered, false));
            }
        }
        Ok(deliveries)
    }

    /// What nobody was given is read again.
    fn give_back(&self, batch: &[Delivery]) {
        self.held.give_back(&self.channel, batch.iter().filter_map(entry_id));
    }

    /// Shows that what we hold is being worked on, so that nobody claims it.
    async fn keep_held(&self, reading: &mut Reading) -> Result<(), RedisError> {
        reading.next_upkeep = Instant::now() + self.names.redeliver_after / 3;
        for ids in self.held.ids(&self.channel).chunks(UPKEEP_BATCH) {
            let mut command = redis::cmd("XCLAIM");
            command.arg(&self.key).arg(GROUP).arg(&self.names.consumer).arg(0).arg(ids);
            command.arg("JUSTID");
            let _: Value = command.query_async(&mut reading.connection).await?;
        }
        Ok(())
    }

    /// Takes over what others have held for too long without a sign of life.
    async fn claim(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Vec<Entry>, RedisError> {
        let idle = u64::try_from(self.names.redeliver_after.as_millis()).unwrap_or(u64::MAX);
        let mut command = redis::cmd("XAUTOCLAIM");
        command.arg(&self.key).arg(GROUP).arg(&self.names.consumer).arg(idle).arg("0-0");
        command.arg("COUNT").arg(UPKEEP_BATCH);
        let answer: Value = command.query_async(connection).await?;
        // The cursor, the entries, and from Redis 7 on those that were deleted.
        let list = entry::array(answer).and_then(|parts| parts.into_iter().nth(1));
        Ok(list.map(entry::entries).unwrap_or_default())
    }
}

/// Makes the stream and its group, unless they are there. The group starts with the oldest entry:
/// what was sent before the first scheduler started is not lost.
pub(super) async fn make_group(
    connection: &mut MultiplexedConnection,
    key: &str,
) -> Result<(), RedisError> {
    let mut command = redis::cmd("XGROUP");
    command.arg("CREATE").arg(key).arg(GROUP).arg("0").arg("MKSTREAM");
    match command.query_async::<Value>(connection).await {
        Err(error) if error.code() != Some("BUSYGROUP") => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn acknowledge(
    connection: &mut MultiplexedConnection,
    key: &str,
    id: &str,
) -> Result<(), RedisError> {
    redis::cmd("XACK").arg(key).arg(GROUP).arg(id).query_async::<Value>(connection).await.map(drop)
}

/// Removes entries that every group has read and acknowledged: all before the oldest one that is
/// pending anywhere, and none that some group has not read yet.
async fn trim(connection: &mut MultiplexedConnection, key: &str) -> Result<(), RedisError> {
    let groups = super::report::groups(connection, key).await?;
    let mut oldest: Option<(u64, u64)> = None;
    for group in groups {
        let mut first = group.last_delivered;
        if group.pending > 0 {
            let mut command = redis::cmd("XPENDING");
            command.arg(key).arg(&group.name).arg("-").arg("+").arg(1);
            let pending: Vec<(String, Value, Value, Value)> =
                command.query_async(connection).await?;
            if let Some((id, ..)) = pending.first() {
                first = super::report::number(id);
            }
        }
        oldest = Some(oldest.map_or(first, |oldest| oldest.min(first)));
    }
    let Some((time, sequence)) = oldest.filter(|&oldest| oldest > (0, 0)) else { return Ok(()) };
    let mut command = redis::cmd("XTRIM");
    command.arg(key).arg("MINID").arg("~").arg(format!("{time}-{sequence}"));
    command.query_async::<Value>(connection).await.map(drop)
}
