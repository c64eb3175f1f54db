//! Entries to bytes. The events that come with every job are written by hand; the rare ones go
//! through the generated types. A test shows that both ways agree.

use bellwether_core::event::RunHeader;
use bellwether_core::model::{
    AcceptedJob, Epoch, Heartbeat, JobNo, JobSpec, Micros, Requirements, Target, Timestamp, Token,
    WorkerNo,
};
use bellwether_core::{Decision, Entry, Event, Reason};
use bellwether_wire::Mirror;
use bellwether_wire::concurrency::{first_plain, weight_to_wire};
use bellwether_wire::decision::{reason_to_wire, share};
use bellwether_wire::event::{RECORD_VERSION, event_to_wire};

use super::writer::Writer;

/// Appends the record of these entries to the buffer.
pub(crate) fn record(buffer: &mut Vec<u8>, epoch: Epoch, entries: &[Entry]) {
    let first = entries.first().expect("a record has entries");
    buffer.uint(1, u64::from(RECORD_VERSION));
    buffer.uint(2, first.seq.0);
    buffer.uint(3, epoch.0);
    buffer.uint(4, first.at.0);
    let mut expected = first.seq;
    for entry in entries {
        assert_eq!(entry.seq, expected, "the entries of a record follow each other");
        expected = expected.next();
        buffer.message(5, about(&entry.event), |buffer| encode_entry(buffer, entry, first.at));
    }
}

/// The bytes of the entry alone, which its payload hash is made of.
pub(crate) fn payload(buffer: &mut Vec<u8>, event: &Event) {
    encode_event(buffer, event);
}

fn encode_entry(buffer: &mut Vec<u8>, entry: &Entry, start: Timestamp) {
    buffer.uint(1, entry.at.since(start).0);
    buffer.uint(2, entry.parent.map_or(0, |parent| entry.seq.0 - parent.0));
    encode_event(buffer, &entry.event);
    for moved in &entry.moved {
        buffer.message(60, 0, |b| {
            b.uint(1, moved.job.0);
            b.uint(2, moved.to.to_wire() as u64);
        });
    }
    buffer.uint(120, u64::from(entry.actor.0));
}

fn encode_event(buffer: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Submitted { run, first, jobs } => {
            buffer.message(10, about(event), |b| submitted(b, run.as_ref(), *first, jobs));
        }
        Event::Assigned { job, worker, hedge, decision } => buffer.message(11, 0, |b| {
            b.uint(1, job.0);
            b.uint(2, u64::from(worker.0));
            b.boolean(3, *hedge);
            b.message(4, 0, |b| encode_decision(b, decision));
        }),
        Event::Started { job, token } => buffer.message(12, 0, |b| attempt(b, *job, *token)),
        Event::Granted { job, token } => buffer.message(13, 0, |b| attempt(b, *job, *token)),
        Event::Progressed { job, token, permille, note } => buffer.message(14, about(event), |b| {
            attempt(b, *job, *token);
            b.uint(3, u64::from(*permille));
            b.bytes(4, note.as_bytes());
        }),
        Event::Completed { job, token, result, result_hash } => {
            buffer.message(15, about(event), |b| {
                attempt(b, *job, *token);
                b.bytes(3, result);
                b.bytes(4, result_hash);
            })
        }
        Event::Retried { job, not_before, avoid } => buffer.message(18, 0, |b| {
            b.uint(1, job.0);
            b.uint(2, not_before.0);
            b.uint(3, avoid.map_or(0, |worker| u64::from(worker.0)));
        }),
        Event::WorkerReported { worker, beat } => {
            buffer.message(32, 0, |b| worker_reported(b, *worker, *beat));
        }
        Event::AttemptFailed { .. }
        | Event::Revoked { .. }
        | Event::HandedOff { .. }
        | Event::Escalated { .. }
        | Event::DeadLettered { .. }
        | Event::Failed { .. }
        | Event::Skipped { .. }
        | Event::SkippedByKey { .. }
        | Event::Cancelled { .. }
        | Event::Reopened { .. }
        | Event::Due { .. }
        | Event::Pinned { .. }
        | Event::WorkerJoined { .. }
        | Event::WorkerReturned { .. }
        | Event::WorkerDraining { .. }
        | Event::WorkerUndrained { .. }
        | Event::WorkerLost { .. }
        | Event::WorkerLeft { .. }
        | Event::WorkerSilent { .. }
        | Event::WorkerHeard { .. }
        | Event::ModelLoaded { .. }
        | Event::WorkerInvited { .. }
        | Event::WorkerKeyBound { .. }
        | Event::WorkerKeyRotated { .. }
        | Event::WorkerKeyRevoked { .. }
        | Event::Paused { .. }
        | Event::Unpaused { .. }
        | Event::Configured { .. }
        | Event::PredictorFailed { .. }
        | Event::BreakerOpened { .. }
        | Event::BreakerClosed
        | Event::DriftDetected { .. }
        | Event::Warmed { .. }
        | Event::TermsExtended { .. }
        | Event::ActorNamed { .. }
        | Event::Checkpointed { .. }
        | Event::ClockStepped { .. }
        | Event::Noted { .. } => event_to_wire(event).encode(buffer),
    }
}

/// How long the event will be: right within a factor is right enough.
fn about(event: &Event) -> usize {
    match event {
        Event::Submitted { jobs, .. } => jobs.iter().map(|job| about_job(&job.spec)).sum(),
        Event::Completed { result, .. } => 50 + result.len(),
        Event::Progressed { note, .. } => 20 + note.len(),
        _ => 50,
    }
}

pub(crate) fn about_job(job: &JobSpec) -> usize {
    130 + job.payload.len()
}

fn submitted(buffer: &mut Vec<u8>, run: Option<&RunHeader>, first: JobNo, jobs: &[AcceptedJob]) {
    buffer.uint(1, run.map_or(0, |run| run.run.0));
    buffer.name(2, run.map(|run| &run.id));
    buffer.uint(3, first.0);
    for job in jobs {
        let terms = Terms {
            waits_for: &job.dependencies,
            predicted: job.predicted,
            rank: job.rank,
            doomed: job.doomed,
        };
        buffer.message(4, about_job(&job.spec), |b| encode_spec(b, &job.spec, &terms));
    }
}

/// What was decided when a job was taken.
pub(crate) struct Terms<'a> {
    pub(crate) waits_for: &'a [JobNo],
    pub(crate) predicted: Micros,
    pub(crate) rank: i64,
    pub(crate) doomed: bool,
}

/// The fields in order, so that what was decided stands between what was asked for.
pub(crate) fn encode_spec(buffer: &mut Vec<u8>, spec: &JobSpec, terms: &Terms<'_>) {
    let extras = spec.extras();
    buffer.name(1, Some(&spec.id));
    buffer.name(2, spec.node.as_ref());
    buffer.message(3, 0, |b| requirements(b, &spec.requirements));
    buffer.uint(4, spec.priority.to_wire() as u64);
    buffer.uint(5, spec.guarantee.to_wire() as u64);
    buffer.uint(6, spec.on_failure.to_wire() as u64);
    buffer.bytes(7, &spec.payload);
    if !terms.waits_for.is_empty() {
        buffer.message(8, 0, |b| terms.waits_for.iter().for_each(|job| b.varint(job.0)));
    }
    buffer.optional_uint(9, spec.timeout.map(|timeout| timeout.0));
    buffer.optional_uint(10, spec.retry.map(u64::from));
    buffer.name(11, spec.sender.as_ref());
    buffer.name(12, spec.idempotency_key.as_ref());
    buffer.uint(13, extras.not_before.0);
    buffer.names(14, &spec.tags);
    if let Some(escalation) = &extras.escalation {
        buffer.message(15, 0, |b| {
            b.uint(1, escalation.priority.map_or(0, Mirror::to_wire) as u64);
            b.name(2, escalation.role.as_ref());
        });
    }
    buffer.optional_uint(16, extras.input_bytes);
    buffer.uint(17, terms.predicted.0);
    buffer.sint(18, terms.rank);
    buffer.boolean(19, terms.doomed);
    if let Some(trace) = extras.trace_parent {
        buffer.bytes(20, &trace.to_bytes());
    }
    buffer.names(21, &spec.dependencies);
    buffer.uint(22, extras.delay.0);
    let (first, others) = first_plain(spec.keys());
    buffer.name(23, first);
    for each in others {
        buffer.message(24, 0, |b| {
            b.name(1, Some(&each.key));
            b.uint(2, weight_to_wire(each.weight).into());
            b.uint(3, each.limit.map_or(0, |limit| limit.get().into()));
            b.uint(4, each.on_limit.map_or(0, Mirror::to_wire) as u64);
        });
    }
}

fn requirements(buffer: &mut Vec<u8>, requirements: &Requirements) {
    buffer.name(1, Some(&requirements.kind));
    match &requirements.target {
        Target::Any => {}
        Target::Role(role) => buffer.name(2, Some(role)),
        Target::Receiver(worker) => buffer.name(3, Some(worker)),
    }
    buffer.uint(4, u64::from(requirements.resources.cpu));
    buffer.uint(5, requirements.resources.memory);
    buffer.names(6, &requirements.capabilities);
    buffer.name(7, requirements.model.as_ref());
}

fn encode_decision(buffer: &mut Vec<u8>, decision: &Decision) {
    buffer.uint(1, decision.strategy.to_wire() as u64);
    buffer.boolean(2, decision.fallback);
    buffer.sint(3, decision.score.0);
    buffer.uint(4, decision.predicted_wait.0);
    buffer.uint(5, decision.predicted_duration.0);
    buffer.uint(6, u64::from(decision.confidence_percent));
    buffer.boolean(7, decision.load_model);
    buffer.message(8, 0, |b| encode_reason(b, decision.reason));
    for loser in &decision.losers {
        buffer.message(9, 0, |b| {
            b.uint(1, u64::from(loser.worker.0));
            b.sint(2, loser.score.0);
            b.uint(3, loser.finish.0);
            b.uint(4, u64::from(share(loser.terms.wait)));
            b.uint(5, u64::from(share(loser.terms.load)));
        });
    }
    if let Some(shadow) = &decision.shadow {
        buffer.message(10, 0, |b| {
            b.uint(1, u64::from(shadow.worker.0));
            b.uint(2, shadow.predicted_finish.0);
            b.uint(3, shadow.live_finish.0);
            b.uint(4, shadow.round_robin_finish.0);
            b.uint(100, shadow.round_robin.map_or(0, |worker| u64::from(worker.0)));
        });
    }
    if let Some(basis) = &decision.basis {
        buffer.message(11, 0, |b| {
            b.message(1, 0, |b| {
                b.uint(1, u64::from(basis.weights.wait));
                b.uint(2, u64::from(basis.weights.load));
                b.uint(3, u64::from(basis.weights.priority));
            });
            b.uint(2, u64::from(share(basis.terms.wait)));
            b.uint(3, u64::from(share(basis.terms.load)));
            b.uint(4, u64::from(share(basis.priority)));
            b.uint(5, u64::from(basis.samples));
            b.uint(6, u64::from(basis.candidates));
        });
    }
}

fn encode_reason(buffer: &mut Vec<u8>, reason: Reason) {
    let wire = reason_to_wire(reason);
    buffer.uint(1, wire.kind as u64);
    buffer.uint(2, u64::from(wire.depth));
    buffer.uint(3, u64::from(wire.free_cpu));
    buffer.uint(4, u64::from(wire.required_cpu));
    buffer.uint(5, wire.free_memory);
    buffer.uint(6, wire.required_memory);
}

fn attempt(buffer: &mut Vec<u8>, job: JobNo, token: Token) {
    buffer.uint(1, job.0);
    buffer.uint(2, token.0);
}

fn worker_reported(buffer: &mut Vec<u8>, worker: WorkerNo, beat: Heartbeat) {
    buffer.uint(1, u64::from(worker.0));
    buffer.message(2, 0, |b| {
        b.uint(1, u64::from(beat.cpu_permille));
        b.uint(2, u64::from(beat.memory_permille));
        b.uint(3, u64::from(beat.load_permille));
        b.uint(4, u64::from(beat.queue_depth));
        b.boolean(5, beat.overloaded);
    });
}
