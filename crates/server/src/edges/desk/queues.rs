//! The queues in front, for those who ask how they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Seq;
use bellwether_wire::v1;

use crate::config::Queue;
use crate::sinks::metrics::{QueueCounts, QueueMeters};

#[derive(Debug, Clone)]
pub(crate) struct QueuesInFront(Arc<[InFront]>);

#[derive(Debug)]
struct InFront {
    name: String,
    backend: &'static str,
    counts: Arc<QueueCounts>,
}

impl QueuesInFront {
    pub(crate) fn new(queues: &[Queue], meters: &QueueMeters) -> QueuesInFront {
        let known = queues.iter().map(|queue| InFront {
            name: queue.name.clone(),
            backend: queue.settings.backend.name(),
            counts: meters.of(&queue.name),
        });
        QueuesInFront(known.collect())
    }

    /// `durable` is the position of the last durable event.
    pub(crate) fn views(&self, durable: Seq) -> Vec<v1::QueueView> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let view = |InFront { name, backend, counts }: &InFront| v1::QueueView {
            name: name.clone(),
            backend: (*backend).to_owned(),
            taken: read(&counts.taken),
            dead_lettered: read(&counts.dead_lettered),
            held: read(&counts.held),
            failures: read(&counts.failures),
            events: read(&counts.events),
            events_lag: counts.events_lag(durable),
        };
        self.0.iter().map(view).collect()
    }
}
