//! Events out: read from the journal at the queue's own pace, published as CloudEvents, at least
//! once. The position of what was published is kept on disk.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bellwether_brokers::{BrokerError, Channel, MessageId, Outgoing};
use bellwether_core::Event;
use bellwether_core::model::Seq;
use bellwether_journal::ReadError;
use bellwether_wire::json::{CloudEvent, EventId, cloud_events};
use tokio::sync::mpsc;

use super::{Queue, REFUSED_PAUSE};
use crate::config::Published;
use crate::identity::Identity;
use crate::position::Position;
use crate::projections::history::{Cursor, CursorError, HistoryError, Seen};
use crate::sinks::metrics::QueueCounts;

/// Events that are published together at most.
const BATCH_EVENTS_MAX: u64 = 2_000;
/// Events in one message at most, and bytes at which it is full.
const MESSAGE_EVENTS_MAX: usize = 100;
const MESSAGE_BYTES: usize = 64 << 10;
/// Batches that are ready while one is being published.
const BATCHES_READY_MAX: usize = 2;
/// With fewer than these others may come soon, and many small messages cost a broker more than a few
/// large ones: so they gather.
const FEW_EVENTS: u64 = 200;
const GATHER: Duration = Duration::from_millis(10);
/// How often the position is written while much happens.
const POSITION_INTERVAL: Duration = Duration::from_millis(250);
/// The same where it is an event for the next leader.
const NOTE_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after the server was lost or the journal could not be read.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

struct Batch {
    messages: Vec<Outgoing>,
    /// Events in them.
    events: usize,
    last: Seq,
}

pub(super) async fn publish(
    queue: Queue,
    published: Published,
    identity: Identity,
    mut position: Position,
) {
    let (batches, mut ready) = mpsc::channel(BATCHES_READY_MAX);
    let cursor = queue.desk.history.cursor(&queue.desk.registry, position.published().next());
    let reader = Reader { queue: queue.clone(), published, identity, cursor };
    tokio::spawn(reader.read(batches));
    let follower = queue.desk.history.follow(position.published());
    queue.counts.events_position.store(position.published().0, Ordering::Relaxed);
    // Not written after every batch: its sync would cost the journal one.
    let mut write_at = Instant::now();
    let mut reached = position.published();
    loop {
        if position.published() != reached && Instant::now() >= write_at {
            write(&queue, &mut position, reached).await;
            follower.passed(position.published());
            let interval = if position.is_event() { NOTE_INTERVAL } else { POSITION_INTERVAL };
            write_at = Instant::now() + interval;
        }
        let next = if position.published() == reached {
            ready.recv().await
        } else {
            let Ok(next) = tokio::time::timeout_at(write_at.into(), ready.recv()).await else {
                continue;
            };
            next
        };
        let Some(Batch { messages, events, last }) = next else { break };
        if !publish_batch(&queue, messages).await {
            break;
        }
        // What was not told need not be remembered, least of all that it was remembered.
        if events > 0 || !position.is_event() {
            reached = last;
        }
        QueueCounts::add(&queue.counts.events, events);
        queue.counts.events_position.store(last.0, Ordering::Relaxed);
    }
    write(&queue, &mut position, reached).await;
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
                queue.failed();
                tracing::debug!(queue = %queue.name, %error, "events wait");
                RETRY_PAUSE
            }
            Err(error) => {
                queue.failed();
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

async fn write(queue: &Queue, position: &mut Position, reached: Seq) {
    if position.published() == reached {
        return;
    }
    if let Err(error) = position.write(reached).await {
        // Until it can be written again, a restart or the next leader repeats more.
        tracing::warn!(queue = %queue.name, %error);
    }
}

struct Reader {
    queue: Queue,
    published: Published,
    identity: Identity,
    cursor: Cursor,
}

impl Reader {
    /// Ends with the loop, when all that it made durable has been read.
    async fn read(mut self, batches: mpsc::Sender<Batch>) {
        let mut durable = self.queue.desk.handle.watch_durable();
        loop {
            let next = self.cursor.next();
            let ended = durable.wait_for(|seq| *seq >= next).await.is_err();
            if ended && self.queue.desk.handle.durable() < next {
                return;
            }
            let Ok(permit) = batches.reserve().await else { return };
            match self.batch().await {
                Ok(batch) => permit.send(batch),
                Err(pause) => tokio::time::sleep(pause).await,
            }
            if self.cursor.next().0 < next.0 + FEW_EVENTS {
                tokio::time::sleep(GATHER).await;
            }
        }
    }

    async fn batch(&mut self) -> Result<Batch, Duration> {
        let durable = self.queue.desk.handle.durable();
        let events = match self.cursor.read(durable, BATCH_EVENTS_MAX).await {
            Ok(events) => events,
            Err(CursorError::Read(error)) => return Err(self.unread(&error)),
            Err(CursorError::Names(error)) => {
                tracing::debug!(queue = %self.queue.name, %error, "events wait for names");
                return Err(RETRY_PAUSE);
            }
        };
        let Some(last) = events.last().map(|seen| seen.entry().seq) else {
            return Err(RETRY_PAUSE);
        };
        let (identity, published) = (self.identity.clone(), self.published);
        let encoded = tokio::task::spawn_blocking(move || {
            let wanted = events.iter().filter(|seen| is_wanted(&seen.entry().event, published));
            encode(wanted, &identity)
        });
        let (messages, events) = encoded.await.expect("writing JSON does not panic");
        Ok(Batch { messages, events, last })
    }

    /// How long to wait before reading is tried again.
    fn unread(&mut self, error: &HistoryError) -> Duration {
        if let HistoryError::Read(ReadError::Truncated { first }) = error {
            let (queue, from) = (&self.queue.name, self.cursor.next());
            tracing::error!(%queue, %from, to = %first, "events were truncated before they could be published");
            self.cursor.skip_to(*first);
            return Duration::ZERO;
        }
        tracing::error!(queue = %self.queue.name, %error, "events can't be read");
        REFUSED_PAUSE
    }
}

/// Messages of several events each, in the JSON batch format of CloudEvents: to hand over a message
/// costs a broker far more than a few more bytes in it.
fn encode<'a>(
    events: impl Iterator<Item = &'a Seen>,
    identity: &Identity,
) -> (Vec<Outgoing>, usize) {
    let mut messages = Vec::new();
    let mut count = 0;
    let mut draft = Draft::new();
    for seen in events {
        for event in cloud_events(identity.as_str(), seen.entry(), seen.names()) {
            draft.add(event);
            count += 1;
            if draft.is_full() {
                messages.extend(std::mem::replace(&mut draft, Draft::new()).finish());
            }
        }
    }
    messages.extend(draft.finish());
    (messages, count)
}

/// A message that is being written.
#[derive(Debug)]
struct Draft {
    body: Vec<u8>,
    events: usize,
    /// Of the first event and of the last.
    ids: Option<(EventId, EventId)>,
}

impl Draft {
    fn new() -> Draft {
        // The last event may go beyond.
        let body = Vec::with_capacity(MESSAGE_BYTES + MESSAGE_BYTES / 8);
        Draft { body, events: 0, ids: None }
    }

    fn add(&mut self, event: CloudEvent<'_>) {
        self.body.push(if self.events == 0 { b'[' } else { b',' });
        self.events += 1;
        serde_json::to_writer(&mut self.body, &event).expect("an event can be written as JSON");
        let (first, _) = self.ids.unwrap_or((event.id, event.id));
        self.ids = Some((first, event.id));
    }

    fn is_full(&self) -> bool {
        self.events >= MESSAGE_EVENTS_MAX || self.body.len() >= MESSAGE_BYTES
    }

    fn finish(mut self) -> Option<Outgoing> {
        let (first, last) = self.ids?;
        self.body.push(b']');
        let mut message = Outgoing::new(Channel::Events, self.body);
        message.id = Some(MessageId::new(format!("{first}-{last}")));
        Some(message)
    }
}

fn is_wanted(event: &Event, published: Published) -> bool {
    match published {
        // Heartbeats are in the journal for replays, and notes for the next leader; they are no news.
        Published::All => !matches!(event, Event::WorkerReported { .. } | Event::Noted { .. }),
        Published::Ended => matches!(
            event,
            Event::Completed { .. }
                | Event::Failed { .. }
                | Event::DeadLettered { .. }
                | Event::Skipped { .. }
                | Event::SkippedByKey { .. }
                | Event::Cancelled { .. }
        ),
        Published::None => false,
    }
}
