//! All events to one receiver, in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bellwether_brokers::Backoff;
use bellwether_core::Event;
use bellwether_core::model::Seq;
use bellwether_journal::ReadError;
use bellwether_wire::json::cloud_events;
use tokio::sync::watch;
use tokio::time::Instant;

use super::post::{Message, Poster};
use crate::config::Webhook;
use crate::edges::desk::{Desk, EventsWanted, Unanswered, is_wanted};
use crate::identity::Identity;
use crate::position::Position;
use crate::projections::history::{HistoryError, Seen};
use crate::sinks::metrics::{Metrics, Sink, SinkCounts};

/// Pauses between the attempts of one event: they double.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// After the journal could not be read.
const READ_PAUSE: Duration = Duration::from_secs(1);
/// How far a receiver may fall behind; what lies further back is dropped.
const BEHIND_MAX: u64 = 100_000;
/// How often the position is saved while there is much to send.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Delivery {
    pub(super) hook: Webhook,
    pub(super) desk: Desk,
    pub(super) source: Identity,
    pub(super) poster: Poster,
    /// The last position that is done with, and what remembers it.
    pub(super) done: Seq,
    pub(super) position: Position,
    pub(super) metrics: Arc<Metrics>,
    pub(super) stopped: watch::Receiver<bool>,
}

/// The server shuts down.
struct Stopped;

impl Delivery {
    pub(super) async fn run(mut self) {
        loop {
            let Err(Stopped) = self.follow().await else { continue };
            return self.save().await;
        }
    }

    /// Sends until the stream of events breaks off.
    async fn follow(&mut self) -> Result<(), Stopped> {
        self.keep_up();
        let wanted = EventsWanted {
            from: Some(self.done.next()),
            kinds: self.hook.kinds.clone(),
            follow: true,
            ..EventsWanted::default()
        };
        let mut events = self.desk.events(wanted, std::convert::identity);
        let mut saved = Instant::now();
        loop {
            let batch = tokio::select! {
                batch = events.recv() => batch,
                () = stop(&mut self.stopped) => return Err(Stopped),
            };
            match batch {
                // It was too slow, and is let go; or the scheduler has ended.
                None | Some(Err(Unanswered::TooSlow)) => return self.rest(PAUSE_MIN).await,
                Some(Err(why)) => return self.could_not_read(&why).await,
                Some(Ok(batch)) => {
                    // That something was noted for the next leader is no news, and noting that it
                    // was told would be the next such.
                    let is_news = |seen: &&Seen| !matches!(seen.entry().event, Event::Noted { .. });
                    for seen in batch.iter().filter(is_news) {
                        self.deliver(seen).await?;
                        if saved.elapsed() > SAVE_INTERVAL {
                            self.save().await;
                            saved = Instant::now();
                        }
                    }
                    self.save().await;
                }
            }
        }
    }

    async fn deliver(&mut self, seen: &Seen) -> Result<(), Stopped> {
        let (source, kinds) = (self.source.clone(), self.hook.kinds.clone());
        let events = cloud_events(source.as_str(), seen.entry(), seen.names());
        for event in events.filter(|event| is_wanted(&kinds, event.kind())) {
            let body = serde_json::to_vec(&event).expect("an event has a JSON form");
            let id = format!("{}#{}", event.source, event.id);
            self.send(&Message { id: &id, body: &body }).await?;
        }
        self.done = seen.entry().seq;
        Ok(())
    }

    /// Until it is taken, or has been tried often enough.
    async fn send(&mut self, message: &Message<'_>) -> Result<(), Stopped> {
        let mut backoff = Backoff::new(PAUSE_MIN, PAUSE_MAX);
        for attempt in 1..=self.hook.attempts_max {
            let posted = tokio::select! {
                posted = self.poster.post(message) => posted,
                () = stop(&mut self.stopped) => return Err(Stopped),
            };
            let Err(why) = posted else {
                self.counts().written.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            };
            self.counts().failures.fetch_add(1, Ordering::Relaxed);
            let (url, id) = (&self.hook.url, message.id);
            tracing::warn!(%why, url, id, attempt, "a webhook did not take an event");
            if attempt < self.hook.attempts_max {
                self.rest(backoff.failed()).await?;
            }
        }
        self.dropped(1);
        Ok(())
    }

    async fn could_not_read(&mut self, why: &Unanswered) -> Result<(), Stopped> {
        if let Unanswered::History(HistoryError::Read(ReadError::Truncated { first })) = why {
            self.skip_to(*first);
            return Ok(());
        }
        tracing::warn!(%why, url = self.hook.url, "events for a webhook could not be read");
        self.rest(READ_PAUSE).await
    }

    /// If that fails, some events are sent again after a restart or by the next leader.
    async fn save(&mut self) {
        if self.position.published() == self.done {
            return;
        }
        if let Err(error) = self.position.write(self.done).await {
            tracing::warn!(%error, "how far a webhook is was not saved");
        }
    }

    fn keep_up(&mut self) {
        let oldest = self.desk.handle.durable().0.saturating_sub(BEHIND_MAX);
        if self.done.0 < oldest {
            self.skip_to(Seq(oldest + 1));
        }
    }

    /// What lies before is not told.
    fn skip_to(&mut self, next: Seq) {
        let done = Seq(next.0.saturating_sub(1));
        let skipped = done.0.saturating_sub(self.done.0);
        tracing::warn!(url = self.hook.url, skipped, "a webhook is too far behind; it skips");
        self.dropped(skipped);
        self.done = done.max(self.done);
    }

    async fn rest(&mut self, pause: Duration) -> Result<(), Stopped> {
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = stop(&mut self.stopped) => Err(Stopped),
        }
    }

    fn dropped(&self, events: u64) {
        self.counts().dropped.fetch_add(events, Ordering::Relaxed);
    }

    fn counts(&self) -> &SinkCounts {
        self.metrics.sinks.of(Sink::Webhooks)
    }
}

async fn stop(stopped: &mut watch::Receiver<bool>) {
    // Sent or dropped: both mean that it is over.
    drop(stopped.wait_for(|stopped| *stopped).await);
}
