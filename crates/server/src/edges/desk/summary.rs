//! One summary a second, made once for all who watch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bellwether_core::model::{JobStatus, WorkerStatus};
use bellwether_wire::json::Status;
use bellwether_wire::json::code::{Code, WaitReason};
use bellwether_wire::{Mirror as _, v1};
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior};
use utoipa::ToSchema;

use super::{Desk, Unanswered};
use crate::edges::explain::reason_of;
use crate::event_loop::{View, clock};
use crate::projections::pulse::{Gauges, Rates};

const EVERY: Duration = Duration::from_secs(1);
/// Why jobs wait is looked up less often: it takes a walk over the workers.
const REASONS_EVERY: Duration = Duration::from_secs(3);
/// Classes of jobs whose reason is told.
const REASONS_MAX: usize = 8;

/// How the scheduler does now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Summary {
    #[serde(flatten)]
    status: Status,
    /// Seconds since 1970.
    at: u64,
    /// What happened within the last second; zeros if `telemetry` is off.
    rates: Rates,
    /// What the largest groups of ready jobs wait for.
    reasons: Vec<Kept>,
    /// Ready jobs that nobody who is there can run.
    stranded: u64,
    /// Workers by status.
    worker_states: BTreeMap<&'static str, u32>,
    /// Durable events that the history does not have yet.
    history_lag: u64,
    /// Queues in front that have failed, or are behind.
    queues: Vec<QueueTrouble>,
    telemetry: bool,
}

/// Jobs that the same thing keeps.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<WaitReason>,
    jobs: u64,
    /// One of them.
    job: String,
    words: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct QueueTrouble {
    name: String,
    failures: u64,
    events_lag: u64,
}

struct Looked {
    stranded: u64,
    reasons: Vec<Kept>,
}

impl Desk {
    /// Goes on until the process ends. Whoever watches is told by [`crate::projections::pulse`].
    pub(crate) async fn tell_summaries(self, telemetry: bool) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looked = (Instant::now(), Looked { stranded: 0, reasons: Vec::new() });
        looked.0 -= REASONS_EVERY;
        loop {
            ticks.tick().await;
            if looked.0.elapsed() >= REASONS_EVERY
                && let Ok(seen) = self.handle.ask(look).await
            {
                looked = (Instant::now(), seen);
            }
            // A scheduler that is about to end, or follows and has nothing yet, has no summary.
            if let Ok(summary) = self.summary(&looked.1, telemetry).await {
                let text = serde_json::to_string(&summary).expect("a summary has a JSON form");
                self.pulse.tell(Arc::from(text));
            }
        }
    }

    async fn summary(&self, looked: &Looked, telemetry: bool) -> Result<Summary, Unanswered> {
        let status = self.status().await?;
        let worker_states = self.handle.ask(worker_states).await?;
        let at = clock::wall().0 / 1_000_000;
        let beat = self.pulse.beat(at, gauges(&status));
        let durable = self.handle.durable();
        let queues = self.queues.views(durable).into_iter();
        let troubled = queues.filter(|queue| queue.failures > 0 || queue.events_lag > 0);
        Ok(Summary {
            at,
            rates: beat.into(),
            reasons: looked.reasons.clone(),
            stranded: looked.stranded,
            worker_states,
            history_lag: self.registry.behind(durable),
            queues: troubled
                .map(|v1::QueueView { name, failures, events_lag, .. }| QueueTrouble {
                    name,
                    failures,
                    events_lag,
                })
                .collect(),
            telemetry,
            status: status.into(),
        })
    }
}

fn look(view: &View<'_>) -> Looked {
    let kept = view.state.why_ready_jobs(REASONS_MAX, view.now);
    let reasons = kept.iter().map(|kept| Kept {
        reason: reason_of(view.state, &kept.first).and_then(Code::known),
        jobs: kept.jobs,
        job: kept.first.job.to_string(),
        words: kept.first.to_string(),
    });
    Looked { reasons: reasons.collect(), stranded: view.state.stranded_jobs() }
}

fn worker_states(view: &View<'_>) -> BTreeMap<&'static str, u32> {
    let mut states = BTreeMap::new();
    for (_, worker) in view.state.workers() {
        let word = match worker.status {
            WorkerStatus::Unreachable if worker.left => "left",
            WorkerStatus::Unreachable => "unreachable",
            WorkerStatus::Draining => "draining",
            WorkerStatus::Open | WorkerStatus::Overloaded if worker.draining => "draining",
            WorkerStatus::Overloaded => "overloaded",
            WorkerStatus::Open if worker.silent_since.is_some() => "silent",
            WorkerStatus::Open if worker.held.is_empty() => "idle",
            WorkerStatus::Open => "busy",
        };
        *states.entry(word).or_insert(0) += 1;
    }
    states
}

fn gauges(status: &v1::StatusResponse) -> Gauges {
    let count = |wanted: JobStatus| {
        let found = status.jobs.iter().find(|count| count.state == wanted.to_wire());
        found.map_or(0, |count| u32::try_from(count.count).unwrap_or(u32::MAX))
    };
    Gauges {
        waiting: count(JobStatus::Waiting),
        delayed: count(JobStatus::Delayed),
        ready: count(JobStatus::Ready),
        running: count(JobStatus::Offered) + count(JobStatus::Running),
        workers: status.workers,
        slots: status.slots,
        slots_used: status.slots_used,
    }
}
