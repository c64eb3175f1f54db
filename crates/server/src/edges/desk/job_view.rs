//! Jobs and workers as the loop knows them, for clients.

use bellwether_core::model::{Heartbeat, HeldAttempt, JobNo, Phase, RunId, WorkerNo, WorkerStatus};
use bellwether_core::{Job, JobState, State, Worker};
use bellwether_wire::job::{escalated_to_wire, job_to_wire, texts};
use bellwether_wire::worker::{heartbeat_to_wire, worker_spec_to_wire};
use bellwether_wire::{Mirror as _, v1};

use super::shown::Shown;
use crate::event_loop::{Ended, View};

pub(super) fn job_view(no: JobNo, job: &Job, run: Option<&RunId>) -> v1::Job {
    let result_hash = match &job.state {
        JobState::Completed { result_hash, .. } => result_hash.to_vec().into(),
        _ => bytes::Bytes::new(),
    };
    v1::Job {
        job: no.0,
        state: job.state.status().to_wire(),
        spec: Some(spec_now(job)),
        run_id: run.map_or_else(String::new, RunId::to_string),
        submitted_at: job.submitted_at.0,
        ended_at: job.ended().map_or(0, |at| at.0),
        failures: job.counts.failures,
        crashes: job.counts.crashes,
        result_hash,
        position: job.last.0,
        ..Default::default()
    }
}

/// As it was taken, but with the priority and role that it has by now.
fn spec_now(job: &Job) -> v1::JobSpec {
    let mut spec = job_to_wire(&job.spec);
    if let Some(escalated) = &job.escalated {
        spec.escalate(&escalated_to_wire(escalated.priority, escalated.role.as_ref()));
    }
    spec
}

/// Without its payload; none if the loop has forgotten the job.
pub(super) fn ended_view(ended: &Ended, shown: Shown) -> Option<v1::Job> {
    let mut view = job_view(ended.no, ended.job.as_ref()?, ended.run.as_ref());
    if let Some(spec) = &mut view.spec {
        spec.payload = bytes::Bytes::new();
    }
    view.result = ended.result.clone();
    view.position = ended.seq.0;
    if let Some(progress) = &ended.progress {
        view.progress_permille = progress.permille;
        view.progress_note.clone_from(&progress.note);
    }
    Some(shown.job(view))
}

pub(crate) fn worker_views(view: &View<'_>, all: bool) -> Vec<v1::Worker> {
    let shown = Shown(view.state.wall_ahead());
    view.state
        .workers()
        .filter(|(_, worker)| all || worker.status != WorkerStatus::Unreachable)
        .map(|(no, worker)| worker_view(view, no, worker, shown))
        .collect()
}

fn worker_view(view: &View<'_>, no: WorkerNo, worker: &Worker, shown: Shown) -> v1::Worker {
    let available = view.state.availability(worker, view.now);
    // What it says of itself may be some seconds old; what it holds of ours is known better here.
    let beat = Heartbeat {
        load_permille: available.load_permille,
        queue_depth: available.queue_depth,
        ..worker.last_beat()
    };
    let takes_jobs = worker.takes_jobs();
    v1::Worker {
        worker: no.0,
        status: status(worker) as i32,
        spec: Some(v1::WorkerSpec {
            models: texts(&worker.models),
            ..worker_spec_to_wire(&worker.spec)
        }),
        beat: Some(heartbeat_to_wire(beat)),
        last_seen: shown.moment(worker.last_seen().0),
        connected: view.host.is_connected(no),
        held: worker.held.iter().map(|held| held_job(view.state, *held, shown)).collect(),
        completed: worker.completed,
        failed: worker.failed,
        busy: worker.busy.0,
        estimated_available_at: match takes_jobs {
            true => shown.moment(available.estimated_available_at.0),
            false => 0,
        },
    }
}

fn status(worker: &Worker) -> v1::WorkerStatus {
    match worker.status {
        WorkerStatus::Open | WorkerStatus::Overloaded if worker.draining => {
            v1::WorkerStatus::Draining
        }
        WorkerStatus::Open if worker.silent_since.is_some() => v1::WorkerStatus::Silent,
        WorkerStatus::Open if worker.held.is_empty() => v1::WorkerStatus::Idle,
        WorkerStatus::Open => v1::WorkerStatus::Busy,
        WorkerStatus::Overloaded => v1::WorkerStatus::Overloaded,
        WorkerStatus::Draining => v1::WorkerStatus::Draining,
        WorkerStatus::Unreachable if worker.left => v1::WorkerStatus::Left,
        WorkerStatus::Unreachable => v1::WorkerStatus::Unreachable,
    }
}

fn held_job(state: &State, held: HeldAttempt, shown: Shown) -> v1::HeldJob {
    let job = state.job(held.job);
    let phase = job.and_then(|job| job.attempt(held.token)).map(|attempt| attempt.phase);
    v1::HeldJob {
        job: held.job.0,
        id: job.map_or_else(String::new, |job| job.spec.id.to_string()),
        token: held.token.0,
        running: matches!(phase, Some(Phase::Running { .. })),
        since: phase.map_or(0, |phase| shown.moment(phase.since().0)),
    }
}
