//! A worker: what it can, and what it holds.

use bellwether_core::model;
use serde::Serialize;
use utoipa::ToSchema;

use super::code::{Code, WorkerStatus};
use super::hex;
use super::unit::{Moment, moment, seconds, text};
use crate::v1;

/// A process that runs jobs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Worker {
    #[serde(flatten)]
    pub spec: WorkerSpec,
    number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<WorkerStatus>,
    /// It has a stream to this scheduler.
    connected: bool,
    /// 1 is fully loaded: by our jobs, and by what it last said of others'.
    load: f64,
    /// Shares of its processors and memory in use, as it last said: 1 is all.
    cpu_load: f64,
    memory_load: f64,
    /// Jobs that wait at it, ours and others'.
    queue_depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen: Option<Moment>,
    held: Vec<HeldJob>,
    completed: u64,
    failed: u64,
    /// Seconds of work done.
    busy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_available_at: Option<Moment>,
}

/// A worker as it registered.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorkerSpec {
    pub id: String,
    slots: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    /// The kind of machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    /// The types of jobs that it has handlers for; it takes any if none are named.
    types: Vec<String>,
    roles: Vec<String>,
    capabilities: Vec<String>,
    /// Those that are warm.
    models: Vec<String>,
    /// It can load a model that is not warm yet.
    loads_models: bool,
    /// Millicores; 0 is not limited.
    cpu: u32,
    /// Bytes; 0 is not limited.
    memory: u64,
    /// Differs between two processes of one id.
    instance: u64,
    /// Ed25519, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
    /// How fast it measured itself to be: 2 is twice as fast as the machine that all are compared
    /// with.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
}

/// What a worker says of itself every few seconds. Shares: 1 is all of it.
#[derive(Debug, Serialize)]
pub(super) struct Heartbeat {
    cpu: f64,
    memory: f64,
    load: f64,
    /// Jobs that it holds and has not started, ours and others'.
    queue_depth: u32,
    overloaded: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct HeldJob {
    id: String,
    token: u64,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Moment>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Workers {
    pub workers: Vec<Worker>,
}

impl From<v1::WorkerSpec> for WorkerSpec {
    fn from(spec: v1::WorkerSpec) -> WorkerSpec {
        WorkerSpec {
            id: spec.id,
            slots: spec.slots,
            zone: text(spec.zone),
            class: text(spec.class),
            endpoint: text(spec.endpoint),
            types: spec.types,
            roles: spec.roles,
            capabilities: spec.capabilities,
            models: spec.models,
            loads_models: spec.loads_models,
            cpu: spec.cpu,
            memory: spec.memory,
            instance: spec.instance,
            public_key: text(hex(&spec.public_key)),
            speed: (spec.speed_permille > 0).then(|| permille(spec.speed_permille)),
        }
    }
}

impl From<&model::Heartbeat> for Heartbeat {
    fn from(beat: &model::Heartbeat) -> Heartbeat {
        Heartbeat {
            cpu: permille(beat.cpu_permille),
            memory: permille(beat.memory_permille),
            load: permille(beat.load_permille),
            queue_depth: beat.queue_depth,
            overloaded: beat.overloaded,
        }
    }
}

impl From<v1::Worker> for Worker {
    fn from(worker: v1::Worker) -> Worker {
        let status = Code::known(worker.status());
        let beat = worker.beat.unwrap_or_default();
        let held = |held: v1::HeldJob| HeldJob {
            id: held.id,
            token: held.token,
            running: held.running,
            since: moment(held.since),
        };
        Worker {
            spec: worker.spec.unwrap_or_default().into(),
            number: worker.worker,
            status,
            connected: worker.connected,
            load: permille(beat.load_permille),
            cpu_load: permille(beat.cpu_permille),
            memory_load: permille(beat.memory_permille),
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

fn permille(thousandths: u32) -> f64 {
    f64::from(thousandths) / 1e3
}
