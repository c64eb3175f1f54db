//! Workers of a snapshot.

use std::sync::Arc;

use bellwether_core::model::{
    HeldAttempt, JobNo, Micros, Resources, Seq, Timestamp, Token, WorkerNo, WorkerStatus,
};
use bellwether_core::place::pace::Pace;
use bellwether_core::state::{Listing, Worker};

use crate::job::texts;
use crate::malformed::{Malformed, names};
use crate::v1::{self, worker_facts::Status};
use crate::worker::{
    heartbeat_from_wire, heartbeat_to_wire, worker_spec_from_wire, worker_spec_to_wire,
};

pub fn worker_to_wire(no: WorkerNo, worker: &Worker) -> v1::WorkerFacts {
    v1::WorkerFacts {
        worker: no.0,
        spec: Some(worker_spec_to_wire(&worker.spec)),
        status: status_to_wire(worker.status) as i32,
        draining: worker.draining,
        models: texts(&worker.models),
        beat: Some(heartbeat_to_wire(worker.beat)),
        beat_at: worker.beat_at.0,
        foreign_load_permille: worker.foreign_load_permille,
        foreign_queue: worker.foreign_queue,
        held: worker
            .held
            .iter()
            .map(|held| v1::AttemptEvent { job: held.job.0, token: held.token.0 })
            .collect(),
        used_cpu: worker.used.cpu,
        used_memory: worker.used.memory,
        busy: worker.busy.0,
        completed: worker.completed,
        failed: worker.failed,
        left: worker.left,
        silent_since: worker.silent_since.map_or(0, |since| since.0),
        pace_permille: worker.pace.unusual_permille(),
        seen_at: worker.seen_at.0,
        short: worker.short,
        changed_at: worker.changed_at.0,
        last: worker.last.0,
        unhandled: texts(&worker.unhandled),
    }
}

pub(super) fn worker_from_wire(wire: v1::WorkerFacts) -> Result<(WorkerNo, Worker), Malformed> {
    let no = WorkerNo(wire.worker);
    let worker = read(wire).map_err(|error| error.within(format_args!("worker {no}")))?;
    Ok((no, worker))
}

fn read(wire: v1::WorkerFacts) -> Result<Worker, Malformed> {
    let spec = wire.spec.ok_or_else(|| Malformed::missing("spec"))?;
    let held =
        |held: &v1::AttemptEvent| HeldAttempt { job: JobNo(held.job), token: Token(held.token) };
    Ok(Worker {
        spec: Arc::new(worker_spec_from_wire(spec).map_err(|error| error.within("spec"))?),
        status: status_from_wire(wire.status)?,
        draining: wire.draining,
        // Those that it loaded come on top of those that it came with.
        models: names("models", &wire.models, usize::MAX)?,
        unhandled: names("unhandled", &wire.unhandled, usize::MAX)?,
        beat: heartbeat_from_wire(wire.beat.unwrap_or_default()),
        beat_at: Timestamp(wire.beat_at),
        foreign_load_permille: wire.foreign_load_permille,
        foreign_queue: wire.foreign_queue,
        held: wire.held.iter().map(held).collect(),
        used: Resources { cpu: wire.used_cpu, memory: wire.used_memory },
        busy: Micros(wire.busy),
        completed: wire.completed,
        failed: wire.failed,
        left: wire.left,
        silent_since: (wire.silent_since > 0).then_some(Timestamp(wire.silent_since)),
        pace: Pace::from_permille(wire.pace_permille),
        seen_at: Micros(wire.seen_at),
        short: wire.short,
        changed_at: Timestamp(wire.changed_at),
        last: Seq(wire.last),
        listing: Listing::default(),
    })
}

fn status_to_wire(status: WorkerStatus) -> Status {
    match status {
        WorkerStatus::Open => Status::Open,
        WorkerStatus::Overloaded => Status::Overloaded,
        WorkerStatus::Draining => Status::Draining,
        WorkerStatus::Unreachable => Status::Unreachable,
    }
}

fn status_from_wire(number: i32) -> Result<WorkerStatus, Malformed> {
    match Status::try_from(number) {
        Ok(Status::Open) => Ok(WorkerStatus::Open),
        Ok(Status::Overloaded) => Ok(WorkerStatus::Overloaded),
        Ok(Status::Draining) => Ok(WorkerStatus::Draining),
        Ok(Status::Unreachable) => Ok(WorkerStatus::Unreachable),
        Ok(Status::Unspecified) => Err(Malformed::missing("status")),
        Err(_) => Err(Malformed::not_allowed("status", number, "it must be from 1 to 4")),
    }
}
