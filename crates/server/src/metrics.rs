//! What Prometheus sees.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) registry: Registry,
    pub(crate) commands: Counter,
    events: Counter,
    batches: Counter,
    sync_seconds: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("bellwether");
        let commands = Counter::default();
        let events = Counter::default();
        let batches = Counter::default();
        let sync_seconds = Histogram::new(exponential_buckets(0.000_05, 2.0, 18));
        registry.register("commands", "Commands handled", commands.clone());
        registry.register("events", "Events handed to the journal", events.clone());
        registry.register("batches", "Batches handed to the journal", batches.clone());
        let help = "Time to make a batch durable";
        registry.register("journal_append_seconds", help, sync_seconds.clone());
        Metrics { registry, commands, events, batches, sync_seconds }
    }

    pub(crate) fn batch(&self, events: usize) {
        self.events.inc_by(events as u64);
        self.batches.inc();
    }

    pub(crate) fn synced(&self, took: Duration) {
        self.sync_seconds.observe(took.as_secs_f64());
    }
}
