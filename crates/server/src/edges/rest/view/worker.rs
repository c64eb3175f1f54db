//! A worker: what it can, and what it holds.

use bellwether_wire::v1;
use serde::Serialize;
use utoipa::ToSchema;

use super::job::text;
use super::{moment, seconds};

/// A process that runs jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Worker {
    pub(in crate::edges::rest) id: String,
    number: u32,
    /// idle, busy, overloaded, draining or unreachable.
    status: &'static str,
    /// It has a stream to this scheduler.
    connected: bool,
    slots: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    /// The kind of machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    roles: Vec<String>,
    capabilities: Vec<String>,
    /// Those that are warm.
    models: Vec<String>,
    /// Millicores; 0 is not limited.
    cpu: u32,
    /// Bytes; 0 is not limited.
    memory: u64,
    /// 1 is fully loaded.
    load: f64,
    /// Jobs that it holds and has not started.
    queue_depth: u32,
    #[schema(format = "date-time")]
    last_seen: Option<String>,
    held: Vec<HeldJob>,
    completed: u64,
    failed: u64,
    /// Seconds of work done.
    busy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    estimated_available_at: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct HeldJob {
    id: String,
    token: u64,
    running: bool,
    #[schema(format = "date-time")]
    since: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Workers {
    pub(in crate::edges::rest) workers: Vec<Worker>,
}

impl From<v1::Worker> for Worker {
    fn from(worker: v1::Worker) -> Worker {
        let status = status(worker.status());
        let spec = worker.spec.unwrap_or_default();
        let beat = worker.beat.unwrap_or_default();
        let held = |held: v1::HeldJob| HeldJob {
            id: held.id,
            token: held.token,
            running: held.running,
            since: moment(held.since),
        };
        Worker {
            id: spec.id,
            number: worker.worker,
            status,
            connected: worker.connected,
            slots: spec.slots,
            zone: text(spec.zone),
            class: text(spec.class),
            endpoint: text(spec.endpoint),
            roles: spec.roles,
            capabilities: spec.capabilities,
            models: spec.models,
            cpu: spec.cpu,
            memory: spec.memory,
            load: f64::from(beat.load_permille) / 1e3,
            queue_depth: beat.queue_depth,
            last_seen: moment(worker.last_seen),
            held: worker.held.into_iter().map(held).collect(),
            completed: worker.completed,
            failed: worker.failed,
            busy: seconds(worker.busy),
            estimated_available_at: moment(worker.estimated_available_at),
        }
    }
}

fn status(status: v1::WorkerStatus) -> &'static str {
    match status {
        v1::WorkerStatus::Unspecified => "unknown",
        v1::WorkerStatus::Idle => "idle",
        v1::WorkerStatus::Busy => "busy",
        v1::WorkerStatus::Overloaded => "overloaded",
        v1::WorkerStatus::Draining => "draining",
        v1::WorkerStatus::Unreachable => "unreachable",
    }
}
