//! What comes in from the queues in front and goes out to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Seq;

use super::text::{Kind, Text};

/// Of one queue. Its tasks count here, once a batch.
#[derive(Debug, Default)]
pub(crate) struct QueueCounts {
    pub(crate) taken: AtomicU64,
    pub(crate) dead_lettered: AtomicU64,
    /// Messages in hand whose jobs are not durable yet.
    pub(crate) held: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) events: AtomicU64,
    /// The position of the last event that is out; 0 if none are published.
    pub(crate) events_position: AtomicU64,
}

impl QueueCounts {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Durable events that are not out yet.
    pub(crate) fn events_lag(&self, durable: Seq) -> u64 {
        match self.events_position.load(Ordering::Relaxed) {
            0 => 0,
            out => durable.0.saturating_sub(out),
        }
    }
}

/// By the names in the configuration.
#[derive(Debug, Default)]
pub(crate) struct QueueMeters(Vec<(Arc<str>, Arc<QueueCounts>)>);

impl QueueMeters {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> QueueMeters {
        QueueMeters(names.map(|name| (name.into(), Arc::default())).collect())
    }

    pub(crate) fn of(&self, name: &str) -> Arc<QueueCounts> {
        let found = self.0.iter().find(|(known, _)| &**known == name);
        found.map(|(_, counts)| Arc::clone(counts)).unwrap_or_default()
    }

    /// `position` is that of the last durable event.
    pub(super) fn write(&self, position: u64, text: &mut Text) {
        if self.0.is_empty() {
            return;
        }
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        text.family(
            "bellwether_queue_messages_total",
            Kind::Counter,
            "Messages of the queue that are settled: their jobs taken, or set aside as dead letters",
        );
        for (name, counts) in &self.0 {
            let settled = [("taken", &counts.taken), ("dead_lettered", &counts.dead_lettered)];
            for (result, counter) in settled {
                text.sample(&[("queue", &**name), ("result", result)], read(counter));
            }
        }
        type Read = fn(&QueueCounts, u64) -> u64;
        let families: [(&'static str, Kind, &str, Read); 4] = [
            (
                "bellwether_queue_messages_held",
                Kind::Gauge,
                "Messages in hand whose jobs are not durable yet",
                |counts, _| counts.held.load(Ordering::Relaxed),
            ),
            (
                "bellwether_queue_failures_total",
                Kind::Counter,
                "Times that the queue's server did not take or give something",
                |counts, _| counts.failures.load(Ordering::Relaxed),
            ),
            (
                "bellwether_queue_events_total",
                Kind::Counter,
                "Lifecycle events published to the queue",
                |counts, _| counts.events.load(Ordering::Relaxed),
            ),
            (
                "bellwether_queue_events_lag",
                Kind::Gauge,
                "Durable events that the queue has not been told yet",
                |counts, position| counts.events_lag(Seq(position)),
            ),
        ];
        for (family, kind, help, read) in families {
            text.family(family, kind, help);
            for (name, counts) in &self.0 {
                text.sample(&[("queue", &**name)], read(counts, position));
            }
        }
    }
}
