//! What Prometheus sees. Three sources: the loop's own counts and the state, looked up when
//! somebody asks; what durable events add up to, kept on a thread of its own; and those who pass
//! events on.
//!
//! Deliberately absent: labels without a bound, and work on the loop beyond plain additions.

mod histogram;
mod labels;
mod meters;
mod observed;
mod process;
mod queues;
mod seen;
mod sinks;
mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bellwether_core::model::Seq;
use bellwether_wire::v1::SchedulerStanding;
use tokio::sync::watch;

use crate::cluster::Members;
use crate::disk_budget::DiskBudget;
use crate::edges::contain;
use crate::edges::desk::Audience;
use crate::edges::security::denials;
use crate::event_loop::{Handle, Unavailable};
use crate::projections::pulse::{Pulse, Tally};
use crate::projections::telemetry::sighting::Sighting;
pub(crate) use meters::Meters;
use observed::Observed;
pub(crate) use observed::TypeSeen;
pub(crate) use queues::{QueueCounts, QueueMeters};
use seen::Seen;
use sinks::Sinks;
pub(crate) use sinks::{Sink, SinkCounts};
pub(crate) use text::CONTENT_TYPE;
use text::{Kind, Text};

/// Job types that have a label of their own; those that come later share `other`.
const TYPES_NAMED_MAX: usize = 50;
/// Workers that have a label of their own.
const WORKERS_NAMED_MAX: usize = 200;

/// What a scheduler may be among others.
const PARTS: [SchedulerStanding; 6] = [
    SchedulerStanding::Alone,
    SchedulerStanding::Following,
    SchedulerStanding::Standing,
    SchedulerStanding::Acceding,
    SchedulerStanding::Reigning,
    SchedulerStanding::Learning,
];

#[derive(Debug)]
pub(crate) struct Metrics {
    // Held by the thread that takes in events for one batch, and by a scrape to write it down.
    observed: Mutex<Observed>,
    pub(crate) sinks: Sinks,
    pub(crate) queues: QueueMeters,
    registry: watch::Receiver<Seq>,
    disk: Arc<DiskBudget>,
    audience: Arc<Audience>,
    /// The same events, second by second.
    pub(crate) pulse: Arc<Pulse>,
}

impl Metrics {
    /// `registry` tells how far the registry has written.
    pub(crate) fn new(
        registry: watch::Receiver<Seq>,
        queues: QueueMeters,
        disk: Arc<DiskBudget>,
        audience: Arc<Audience>,
    ) -> Metrics {
        let observed = Mutex::new(Observed::new());
        let (sinks, pulse) = (Sinks::default(), Arc::default());
        Metrics { observed, sinks, queues, registry, disk, audience, pulse }
    }

    pub(crate) fn observing(&self) -> Observing<'_> {
        Observing { observed: self.lock(), tally: self.pulse.counting() }
    }

    /// What became of the jobs of each type.
    pub(crate) fn types(&self) -> Vec<TypeSeen> {
        self.lock().types()
    }

    pub(crate) async fn render(
        &self,
        handle: &Handle,
        members: &Members,
    ) -> Result<String, Unavailable> {
        let types = self.lock().type_names();
        let seen = handle.ask(move |view| Seen::of(view, &types)).await?;
        let mut text = Text::default();
        let version = env!("CARGO_PKG_VERSION");
        text.family("bellwether_build_info", Kind::Gauge, "1, for the version that runs")
            .sample(&[("version", version)], 1);
        seen.write(&mut text);
        let list = members.list(Seq(seen.position));
        let leader = list.leader.clone().unwrap_or_default();
        let help = "1 while this scheduler leads, or is alone";
        text.gauge("bellwether_leads", help, u8::from(leader.here));
        let help = "The latest reign that this scheduler knows of";
        text.gauge("bellwether_epoch", help, leader.epoch);
        let help = "Committed events that this scheduler has not applied yet";
        text.gauge("bellwether_follow_lag_events", help, list.committed - list.applied);
        let help = "What this scheduler is among the others: 1 for its part";
        let parts = text.family("bellwether_scheduler_part", Kind::Gauge, help);
        for part in PARTS {
            let is_its = list.standing() == part;
            parts.sample(&[("part", part.as_str())], u8::from(is_its));
        }
        let help = "Schedulers that count for a majority, as this one knows; 1 if it is alone";
        let voting = list.members.iter().filter(|member| member.votes).count();
        text.gauge("bellwether_members", help, voting.max(1));
        let observed = self.lock();
        observed.write(&mut text);
        let behind = seen.position.saturating_sub(observed.position.0);
        drop(observed);
        let help = "Durable events that these numbers do not include yet";
        text.gauge("bellwether_telemetry_lag_events", help, behind);
        let behind = seen.position.saturating_sub(self.registry.borrow().0);
        let help = "Durable events that the registry has not written yet";
        text.gauge("bellwether_registry_lag_events", help, behind);
        let help = "Bytes of disk that the data directory takes";
        text.gauge("bellwether_data_directory_bytes", help, self.disk.used());
        text.family(
            "bellwether_followers_cut_off_total",
            Kind::Counter,
            "Those who followed events and were cut off because they were too slow",
        )
        .sample(&[], self.audience.cut_off());
        let help = "Requests that were ended by a bug of the scheduler";
        text.counter("bellwether_requests_panicked_total", help, contain::panics());
        let help = "Requests that were not let in, by why";
        let denied = text.family("bellwether_denied_total", Kind::Counter, help);
        denials::counts().for_each(|(cause, count)| {
            denied.sample(&[("cause", cause)], count);
        });
        self.sinks.write(&mut text);
        self.queues.write(seen.position, &mut text);
        process::write(&mut text);
        Ok(text.into_string())
    }

    fn lock(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to add, for one batch.
pub(crate) struct Observing<'a> {
    observed: MutexGuard<'a, Observed>,
    tally: MutexGuard<'a, Tally>,
}

impl Observing<'_> {
    pub(crate) fn see(&mut self, sighting: &Sighting<'_>) {
        self.observed.see(sighting);
        self.tally.see(sighting);
    }

    pub(crate) fn reached(&mut self, position: Seq) {
        self.observed.position = position;
    }
}
