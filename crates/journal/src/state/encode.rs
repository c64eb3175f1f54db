//! The facts, piece by piece.

use bellwether_core::model::{Attempt, JobNo, Phase, Timestamp};
use bellwether_core::{Job, JobState, State};
use bellwether_wire::{Mirror as _, snapshot as wire, v1};
use prost::Message;

use super::FORMAT;
use crate::codec::encode::{Terms, about_job, encode_spec};
use crate::codec::writer::Writer as _;

/// A piece ends with the thing that makes it as long as this.
const PIECE_BYTES: usize = 256 << 10;

/// Gives piece after piece of the snapshot.
pub(super) fn pieces(state: &State, each: impl FnMut(&[u8])) {
    let statistics = state.statistics.facts();
    let mut out = Out { piece: Vec::with_capacity(PIECE_BYTES), count: 0, each };
    out.message(1, &wire::header_to_wire(FORMAT, state, &statistics));
    for (no, job) in state.jobs.iter() {
        out.item(2, 60 + about_job(&job.spec), |b| encode_job(b, no, job));
    }
    for (no, run) in state.runs.iter() {
        out.item(3, 0, |b| {
            b.uint(1, no.0);
            b.name(2, Some(&run.id));
            b.uint(3, u64::from(run.remembered));
            b.uint(4, u64::from(run.live));
        });
    }
    for (no, worker) in state.workers.iter() {
        out.message(4, &wire::worker_to_wire(no, worker));
    }
    for (at, job) in &state.ended {
        out.item(5, 0, |b| end(b, job.0, *at));
    }
    for (at, worker) in &state.gone {
        out.item(6, 0, |b| end(b, u64::from(worker.0), *at));
    }
    for (at, key, job) in &state.keys {
        out.item(7, 0, |b| {
            b.name(1, Some(key));
            b.uint(2, job.0);
            b.uint(3, at.0);
        });
    }
    for paused in &state.paused {
        out.put(|b| b.name(8, Some(paused)));
    }
    for (model, took) in &state.model_loads {
        out.message(9, &wire::model_to_wire(model, *took));
    }
    for (number, known) in state.actors.iter() {
        out.message(120, &wire::actor_to_wire(number, known));
    }
    for ((r#type, sender), worker) in &state.last_runs {
        let (r#type, sender) = (*r#type, *sender);
        out.message(10, &v1::LastRunFacts { r#type, sender, worker: worker.0 });
    }
    for name in &statistics.names {
        out.put(|b| b.name(11, Some(name)));
    }
    statistics.cells.iter().for_each(|cell| out.message(12, &wire::cell_to_wire(cell)));
    statistics.types.iter().for_each(|each| out.message(13, &wire::type_to_wire(each)));
    statistics.machines.iter().for_each(|each| out.message(14, &wire::machine_to_wire(each)));
    for (r#type, times) in &state.hedging.by_type {
        let (samples, mean, deviation) = (times.samples, times.mean, times.deviation);
        out.message(15, &v1::AcknowledgementFacts { r#type: *r#type, samples, mean, deviation });
    }
    for (worker, bound) in &state.worker_keys {
        out.message(140, &wire::key_facts_to_wire(worker, bound));
    }
    for (ticket, open) in &state.invitations {
        out.message(141, &wire::invitation_to_wire(*ticket, open));
    }
    for (job, chain) in &state.handoffs {
        out.message(142, &wire::handoffs_to_wire(*job, chain));
    }
    let count = out.count + 1;
    out.piece.uint(16, count);
    out.end_piece();
}

struct Out<F> {
    piece: Vec<u8>,
    count: u64,
    each: F,
}

impl<F: FnMut(&[u8])> Out<F> {
    fn put(&mut self, body: impl FnOnce(&mut Vec<u8>)) {
        body(&mut self.piece);
        if self.piece.len() >= PIECE_BYTES {
            self.end_piece();
        }
    }

    fn item(&mut self, tag: u32, about: usize, body: impl FnOnce(&mut Vec<u8>)) {
        self.put(|piece| piece.message(tag, about, body));
    }

    fn message(&mut self, tag: u32, message: &impl Message) {
        self.put(|piece| prost::encoding::message::encode(tag, message, piece));
    }

    fn end_piece(&mut self) {
        (self.each)(&self.piece);
        self.piece.clear();
        self.count += 1;
    }
}

fn encode_job(b: &mut Vec<u8>, no: JobNo, job: &Job) {
    b.uint(1, no.0);
    let terms = Terms {
        waits_for: &job.dependencies,
        predicted: job.predicted,
        rank: job.rank,
        // It counts among the broken.
        doomed: false,
    };
    b.message(2, about_job(&job.spec), |b| encode_spec(b, &job.spec, &terms));
    match &job.state {
        JobState::Waiting { unmet } => b.present_uint(3, u64::from(*unmet)),
        JobState::Delayed { until } => b.present_uint(4, until.0),
        JobState::Ready => b.boolean(5, true),
        JobState::Active(attempts) => b.message(6, 0, |b| {
            attempts.iter().for_each(|attempt| b.message(1, 0, |b| encode_attempt(b, attempt)));
        }),
        JobState::Completed { token, result_hash } => b.message(7, 0, |b| {
            b.uint(1, token.0);
            b.bytes(2, result_hash);
        }),
        JobState::Failed { cause } => b.present_uint(8, cause.to_wire() as u64),
        JobState::Cancelled => b.boolean(9, true),
        JobState::Skipped { because } => b.present_uint(10, because.0),
        JobState::DeadLettered { reason } => b.present_uint(11, reason.to_wire() as u64),
    }
    b.uint(12, job.run.map_or(0, |run| run.0));
    b.uint(13, job.submitted_at.0);
    b.uint(14, u64::from(job.attempts));
    b.uint(15, u64::from(job.counts.failures));
    b.uint(16, u64::from(job.counts.crashes));
    b.uint(17, u64::from(job.counts.returns));
    if let Some(escalated) = &job.escalated {
        b.message(18, 0, |b| {
            b.uint(1, escalated.priority.to_wire() as u64);
            b.name(2, escalated.role.as_ref());
        });
    }
    b.name(19, job.pinned.as_deref());
    b.uint(21, job.ended_at.0);
    b.uint(22, u64::from(job.broken));
    if !job.dependents.is_empty() {
        b.message(23, 0, |b| job.dependents.iter().for_each(|job| b.varint(job.0)));
    }
    b.uint(24, u64::from(job.locality.number()));
    b.uint(25, job.last.0);
    b.uint(26, u64::from(job.avoid.number()));
}

fn encode_attempt(b: &mut Vec<u8>, attempt: &Attempt) {
    b.uint(1, attempt.token.0);
    b.uint(2, u64::from(attempt.worker.0));
    b.uint(3, attempt.offered_at.0);
    b.uint(4, attempt.predicted.0);
    b.boolean(5, attempt.hedge);
    b.boolean(6, attempt.short);
    b.uint(7, attempt.phase.since().0);
    match attempt.phase {
        Phase::Offered { quiet_at, .. } => b.uint(8, quiet_at.0),
        Phase::Running { timeout_at, stalled_at, .. } => {
            b.present_uint(9, timeout_at.0);
            if let Some(stalled_at) = stalled_at {
                b.present_uint(10, stalled_at.0);
            }
        }
    }
}

fn end(b: &mut Vec<u8>, number: u64, at: Timestamp) {
    b.uint(1, number);
    b.uint(2, at.0);
}
