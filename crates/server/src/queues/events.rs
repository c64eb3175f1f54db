//! Events out: read from the journal at the queue's own pace, published as CloudEvents, at least
//! once. The position of what was published is kept on disk.

use std::time::{Duration, Instant};

use bellwether_brokers::{BrokerError, Channel, MessageId, Outgoing};
use bellwether_core::model::Seq;
use bellwether_core::{Entry, Event};
use bellwether_journal::ReadError;
use bellwether_wire::json::cloud_events;
use tokio::sync::mpsc;

use super::names::Names;
use super::{Queue, REFUSED_PAUSE};
use crate::config::Published;
use crate::history::HistoryError;
use crate::identity::Identity;
use crate::position::PositionFile;

/// Entries that are read and published together, about.
const BATCH_ENTRIES: usize = 2_000;
/// Batches that are ready while one is being published.
const BATCHES_READY_MAX: usize = 2;
/// How often the position is written while much happens.
const POSITION_INTERVAL: Duration = Duration::from_millis(250);
/// The pause after the server was lost or the journal could not be read.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

struct Batch {
    messages: Vec<Outgoing>,
    last: Seq,
}

pub(super) async fn publish(
    queue: Queue,
    published: Published,
    identity: Identity,
    mut position: PositionFile,
) {
    let (batches, mut ready) = mpsc::channel(BATCHES_READY_MAX);
    let reader = Reader {
        queue: queue.clone(),
        published,
        identity,
        next: position.published().next(),
        names: Names::default(),
    };
    tokio::spawn(reader.read(batches));
    let follower = queue.desk.history.follow(position.published());
    // Not written after every batch: its sync would cost the journal one.
    let mut write_at = Instant::now();
    let mut reached = position.published();
    loop {
        if position.published() != reached && Instant::now() >= write_at {
            position = write(&queue, position, reached).await;
            follower.passed(position.published());
            write_at = Instant::now() + POSITION_INTERVAL;
        }
        let next = if position.published() == reached {
            ready.recv().await
        } else {
            let Ok(next) = tokio::time::timeout_at(write_at.into(), ready.recv()).await else {
                continue;
            };
            next
        };
        let Some(Batch { messages, last }) = next else { break };
        if !publish_batch(&queue, messages).await {
            break;
        }
        reached = last;
    }
    write(&queue, position, reached).await;
}

/// Tries until the server has taken all of it; false if this one shuts down first.
async fn publish_batch(queue: &Queue, messages: Vec<Outgoing>) -> bool {
    if messages.is_empty() {
        return true;
    }
    loop {
        let pause = match queue.broker.publish(messages.clone()).await {
            Ok(()) => return true,
            Err(error @ BrokerError::Lost { .. }) => {
                tracing::debug!(queue = %queue.name, %error, "events wait");
                RETRY_PAUSE
            }
            Err(error) => {
                tracing::error!(queue = %queue.name, %error, "events can't be published");
                REFUSED_PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = queue.stopped() => return false,
        }
    }
}

async fn write(queue: &Queue, mut position: PositionFile, reached: Seq) -> PositionFile {
    if position.published() == reached {
        return position;
    }
    let written = tokio::task::spawn_blocking(move || {
        let written = position.write(reached);
        (position, written)
    });
    let (position, written) = written.await.expect("writing a file does not panic");
    if let Err(error) = written {
        // Until it can be written again, a restart repeats more.
        tracing::warn!(queue = %queue.name, %error);
    }
    position
}

struct Reader {
    queue: Queue,
    published: Published,
    identity: Identity,
    next: Seq,
    names: Names,
}

impl Reader {
    /// Ends with the loop, when all that it made durable has been read.
    async fn read(mut self, batches: mpsc::Sender<Batch>) {
        let mut durable = self.queue.desk.handle.watch_durable();
        loop {
            let next = self.next;
            let ended = durable.wait_for(|seq| *seq >= next).await.is_err();
            if ended && self.queue.desk.handle.durable() < next {
                return;
            }
            let Ok(permit) = batches.reserve().await else { return };
            match self.batch().await {
                Ok(batch) => permit.send(batch),
                Err(pause) => tokio::time::sleep(pause).await,
            }
        }
    }

    async fn batch(&mut self) -> Result<Batch, Duration> {
        let desk = &self.queue.desk;
        let durable = desk.handle.durable();
        let records = match desk.history.read(self.next, BATCH_ENTRIES).await {
            Ok(records) => records,
            Err(error) => return Err(self.unread(&error)),
        };
        let mut entries: Vec<Entry> =
            records.into_iter().flat_map(|record| record.entries).collect();
        // A journal may know of more than has been announced.
        entries.retain(|entry| entry.seq <= durable);
        let Some(last) = entries.last().map(|entry| entry.seq) else { return Err(RETRY_PAUSE) };
        if let Err(error) = self.names.learn(&entries, &desk.registry).await {
            tracing::debug!(queue = %self.queue.name, %error, "events wait for names");
            return Err(RETRY_PAUSE);
        }
        let (names, identity) = (std::mem::take(&mut self.names), self.identity.clone());
        let published = self.published;
        let encoded = tokio::task::spawn_blocking(move || {
            entries.retain(|entry| is_wanted(&entry.event, published));
            let messages = encode(&entries, &names, &identity);
            (messages, names)
        });
        let (messages, names) = encoded.await.expect("writing JSON does not panic");
        self.names = names;
        self.names.forget_old();
        self.next = last.next();
        Ok(Batch { messages, last })
    }

    /// How long to wait before reading is tried again.
    fn unread(&mut self, error: &HistoryError) -> Duration {
        if let HistoryError::Read(ReadError::Truncated { first }) = error {
            let (queue, from) = (&self.queue.name, self.next);
            tracing::error!(%queue, %from, to = %first, "events were truncated before they could be published");
            self.next = *first;
            return Duration::ZERO;
        }
        tracing::error!(queue = %self.queue.name, %error, "events can't be read");
        REFUSED_PAUSE
    }
}

fn encode(entries: &[Entry], names: &Names, identity: &Identity) -> Vec<Outgoing> {
    let mut messages = Vec::with_capacity(entries.len());
    for entry in entries {
        for event in cloud_events(identity.as_str(), entry, names.of(&entry.event)) {
            let body = serde_json::to_vec(&event).expect("an event can be written as JSON");
            let mut message = Outgoing::new(Channel::Events, body);
            message.id = Some(MessageId::new(event.id));
            messages.push(message);
        }
    }
    messages
}

fn is_wanted(event: &Event, published: Published) -> bool {
    match published {
        // Heartbeats are in the journal for replays; they are no news.
        Published::All => !matches!(event, Event::WorkerReported { .. }),
        Published::Ended => matches!(
            event,
            Event::Completed { .. }
                | Event::Failed { .. }
                | Event::DeadLettered { .. }
                | Event::Skipped { .. }
                | Event::Cancelled { .. }
        ),
        Published::None => false,
    }
}
