//! What Prometheus sees.

use std::time::Duration;

use bellwether_core::model::WorkerStatus;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::scheduler::View;

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) commands: Counter,
    events: Counter,
    batches: Counter,
    append_seconds: Histogram,
    batch_events: Histogram,
    jobs_live: Gauge,
    payload_bytes: Gauge,
    workers: Gauge,
    sessions: Gauge,
    slots: Gauge,
    slots_used: Gauge,
    jobs_submitted: Gauge,
    jobs_completed: Gauge,
    offers: Gauge,
    hedges: Gauge,
    position: Gauge,
    disk_full: Gauge,
}

/// Numbers that are looked up when somebody asks for them.
#[derive(Debug)]
pub(crate) struct Gauges {
    jobs_live: u64,
    payload_bytes: u64,
    workers: u64,
    sessions: u64,
    slots: u64,
    slots_used: u64,
    jobs_submitted: u64,
    jobs_completed: u64,
    offers: u64,
    hedges: u64,
    position: u64,
    disk_full: bool,
}

impl Gauges {
    pub(crate) fn of(view: &View<'_>) -> Gauges {
        let totals = view.state.totals();
        let present = || {
            let workers = view.state.workers().map(|(_, worker)| worker);
            workers.filter(|worker| worker.status != WorkerStatus::Unreachable)
        };
        Gauges {
            jobs_live: totals.live,
            payload_bytes: totals.payload_bytes,
            workers: present().count() as u64,
            sessions: view.outbox.connected() as u64,
            slots: present().map(|worker| u64::from(worker.spec.slots)).sum(),
            slots_used: present().map(|worker| worker.held.len() as u64).sum(),
            jobs_submitted: totals.submitted,
            jobs_completed: totals.completed,
            offers: totals.assigned,
            hedges: totals.hedged,
            position: view.durable.seq.0,
            disk_full: view.disk_full,
        }
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("bellwether"),
            commands: Counter::default(),
            events: Counter::default(),
            batches: Counter::default(),
            append_seconds: Histogram::new(exponential_buckets(0.000_05, 2.0, 18)),
            batch_events: Histogram::new(exponential_buckets(1.0, 4.0, 10)),
            jobs_live: Gauge::default(),
            payload_bytes: Gauge::default(),
            workers: Gauge::default(),
            sessions: Gauge::default(),
            slots: Gauge::default(),
            slots_used: Gauge::default(),
            jobs_submitted: Gauge::default(),
            jobs_completed: Gauge::default(),
            offers: Gauge::default(),
            hedges: Gauge::default(),
            position: Gauge::default(),
            disk_full: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let Metrics { registry, .. } = self;
        for (name, help, counter) in [
            ("commands", "Commands handled", &self.commands),
            ("events", "Events handed to the journal", &self.events),
            ("batches", "Batches handed to the journal", &self.batches),
        ] {
            registry.register(name, help, counter.clone());
        }
        let help = "Time to make a batch durable";
        registry.register("journal_append_seconds", help, self.append_seconds.clone());
        let help = "Events made durable together";
        registry.register("journal_batch_events", help, self.batch_events.clone());
        for (name, help, gauge) in [
            ("jobs_live", "Jobs that have not ended", &self.jobs_live),
            ("payload_bytes", "Bytes of their payloads", &self.payload_bytes),
            ("workers", "Workers that are reachable", &self.workers),
            ("worker_sessions", "Workers that are connected", &self.sessions),
            ("slots", "Slots of reachable workers", &self.slots),
            ("slots_used", "Attempts that workers hold", &self.slots_used),
            ("jobs_submitted", "Jobs submitted, ever", &self.jobs_submitted),
            ("jobs_completed", "Jobs completed, ever", &self.jobs_completed),
            ("offers", "Offers made, ever", &self.offers),
            ("hedges", "Offers that were hedges, ever", &self.hedges),
            ("journal_position", "The last durable position", &self.position),
            ("disk_full", "1 while new work is refused for lack of space", &self.disk_full),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    pub(crate) fn batch(&self, events: usize) {
        self.events.inc_by(events as u64);
        self.batches.inc();
        self.batch_events.observe(events as f64);
    }

    pub(crate) fn synced(&self, took: Duration) {
        self.append_seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn set(&self, seen: &Gauges) {
        for (gauge, value) in [
            (&self.jobs_live, seen.jobs_live),
            (&self.payload_bytes, seen.payload_bytes),
            (&self.workers, seen.workers),
            (&self.sessions, seen.sessions),
            (&self.slots, seen.slots),
            (&self.slots_used, seen.slots_used),
            (&self.jobs_submitted, seen.jobs_submitted),
            (&self.jobs_completed, seen.jobs_completed),
            (&self.offers, seen.offers),
            (&self.hedges, seen.hedges),
            (&self.position, seen.position),
            (&self.disk_full, u64::from(seen.disk_full)),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}
