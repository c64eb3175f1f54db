//! Events as the journal keeps them.

use std::sync::Arc;

use bellwether_core::event::{DeadReason, RunHeader};
use bellwether_core::model::limits::SAMPLES_MAX;
use bellwether_core::model::{
    Actor, ActorNo, Epoch, FailureCause, JobNo, JobStatus, Micros, Priority, RevokeReason, RunNo,
    Sample, Seq, Timestamp, Token, WallAhead, WorkerNo,
};
use bellwether_core::{Entry, Event, Moved};

use crate::checkpoint::{checkpoint_from_wire, checkpoint_to_wire};
use crate::config::{config_from_wire, config_to_wire};
use crate::decision::{decision_from_wire, decision_to_wire};
use crate::handoff::{handoff_from_wire, handoff_to_wire};
use crate::job::{accepted_from_wire, accepted_to_wire, text};
use crate::key::{
    bound_from_wire, invited_from_wire, invited_to_wire, key_from_wire, key_to_wire, terms_to_wire,
};
use crate::malformed::{Malformed, at_most, hash, name, optional_name};
use crate::v1::entry::Event as Wire;
use crate::worker::{
    heartbeat_from_wire, heartbeat_to_wire, worker_spec_from_wire, worker_spec_to_wire,
};
use crate::{Mirror, v1};

/// The format that is written.
pub const RECORD_VERSION: u32 = 1;

/// The entries as one record.
///
/// # Panics
/// If there are none, or their positions have a gap.
pub fn record_to_wire(epoch: Epoch, entries: &[Entry]) -> v1::Record {
    let first = entries.first().expect("a record has entries");
    assert!(
        entries.iter().zip(first.seq.0..).all(|(entry, seq)| entry.seq.0 == seq),
        "the entries of a record follow each other"
    );
    v1::Record {
        version: RECORD_VERSION,
        first_seq: first.seq.0,
        epoch: epoch.0,
        at: first.at.0,
        entries: entries.iter().map(|entry| entry_to_wire(entry, first.at)).collect(),
    }
}

pub fn entries_from_wire(record: v1::Record) -> Result<Vec<Entry>, Malformed> {
    let (first, start) = (record.first_seq, record.at);
    record
        .entries
        .into_iter()
        .enumerate()
        .map(|(index, wire)| {
            let seq = Seq(first.saturating_add(index as u64));
            entry_from_wire(wire, seq, Timestamp(start))
                .map_err(|error| error.within(format_args!("entries[{index}]")))
        })
        .collect()
}

/// `start` is the time of the record's first entry.
pub fn entry_to_wire(entry: &Entry, start: Timestamp) -> v1::Entry {
    v1::Entry {
        after: entry.at.since(start).0,
        parent_back: entry.parent.map_or(0, |parent| entry.seq.0 - parent.0),
        actor: entry.actor.0,
        event: Some(event_to_wire(&entry.event)),
        moved: entry.moved.iter().map(moved_to_wire).collect(),
    }
}

pub fn entry_from_wire(wire: v1::Entry, seq: Seq, start: Timestamp) -> Result<Entry, Malformed> {
    let parent = match wire.parent_back {
        0 => None,
        back => Some(Seq(seq.0.checked_sub(back).ok_or_else(|| {
            Malformed::not_allowed("parent_back", back, "it must lie in the journal")
        })?)),
    };
    let event = wire.event.ok_or_else(|| Malformed::missing("event"))?;
    let at = start + Micros(wire.after);
    let moved = wire.moved.into_iter().map(moved_from_wire).collect::<Result<_, _>>()?;
    let actor = ActorNo(wire.actor);
    Ok(Entry { seq, at, parent, actor, event: event_from_wire(event)?, moved })
}

fn moved_to_wire(moved: &Moved) -> v1::Moved {
    v1::Moved { job: moved.job.0, to: moved.to.to_wire() }
}

fn moved_from_wire(wire: v1::Moved) -> Result<Moved, Malformed> {
    Ok(Moved { job: JobNo(wire.job), to: JobStatus::required("moved.to", wire.to)? })
}

pub fn event_to_wire(event: &Event) -> Wire {
    match event {
        Event::Submitted { run, first, jobs } => Wire::Submitted(v1::Submitted {
            run: run.as_ref().map_or(0, |run| run.run.0),
            run_id: text(run.as_ref().map(|run| &run.id)),
            first: first.0,
            jobs: jobs.iter().map(accepted_to_wire).collect(),
        }),
        Event::Assigned { job, worker, hedge, decision } => Wire::Assigned(v1::Assigned {
            job: job.0,
            worker: worker.0,
            hedge: *hedge,
            decision: Some(decision_to_wire(decision)),
        }),
        Event::Started { job, token } => {
            Wire::Started(v1::AttemptEvent { job: job.0, token: token.0 })
        }
        Event::Granted { job, token } => {
            Wire::Granted(v1::AttemptEvent { job: job.0, token: token.0 })
        }
        Event::Progressed { job, token, permille, note } => Wire::Progressed(v1::Progressed {
            job: job.0,
            token: token.0,
            permille: *permille,
            note: note.clone(),
        }),
        Event::Completed { job, token, result, result_hash } => Wire::Completed(v1::Completed {
            job: job.0,
            token: token.0,
            result: result.clone(),
            result_hash: result_hash.to_vec().into(),
        }),
        Event::AttemptFailed { job, token, cause, error } => {
            Wire::AttemptFailed(v1::AttemptFailed {
                job: job.0,
                token: token.0,
                cause: cause.to_wire(),
                error: error.clone(),
            })
        }
        Event::Revoked { job, token, reason } => {
            Wire::Revoked(v1::Revoked { job: job.0, token: token.0, reason: reason.to_wire() })
        }
        Event::HandedOff { job, token, handoff } => Wire::HandedOff(v1::HandedOff {
            job: job.0,
            token: token.0,
            handoff: Some(handoff_to_wire(handoff)),
        }),
        Event::Retried { job, not_before, avoid } => Wire::Retried(v1::Retried {
            job: job.0,
            not_before: not_before.0,
            avoid: avoid.map_or(0, |worker| worker.0),
        }),
        Event::Escalated { job, priority, role } => Wire::Escalated(v1::Escalated {
            job: job.0,
            priority: priority.to_wire(),
            role: text(role.as_ref()),
        }),
        Event::DeadLettered { job, reason } => {
            Wire::DeadLettered(v1::DeadLettered { job: job.0, reason: reason.to_wire() })
        }
        Event::Failed { job, cause } => {
            Wire::Failed(v1::Failed { job: job.0, cause: cause.to_wire() })
        }
        Event::Skipped { job, because } => {
            Wire::Skipped(v1::Skipped { job: job.0, because: because.0 })
        }
        Event::SkippedByKey { job, key, holder } => Wire::SkippedByKey(v1::SkippedByKey {
            job: job.0,
            key: key.to_string(),
            holder: holder.0,
        }),
        Event::Cancelled { job, reason } => {
            Wire::Cancelled(v1::Cancelled { job: job.0, reason: reason.clone() })
        }
        Event::Reopened { job } => Wire::Reopened(v1::JobEvent { job: job.0 }),
        Event::Due { job } => Wire::Due(v1::JobEvent { job: job.0 }),
        Event::Pinned { job, worker } => Wire::Pinned(v1::Pinned { job: job.0, worker: worker.0 }),
        Event::WorkerJoined { worker, spec } => Wire::WorkerJoined(v1::WorkerJoined {
            worker: worker.0,
            spec: Some(worker_spec_to_wire(spec)),
        }),
        Event::WorkerReturned { worker } => Wire::WorkerReturned(worker_event(*worker)),
        Event::WorkerReported { worker, beat } => Wire::WorkerReported(v1::WorkerReported {
            worker: worker.0,
            beat: Some(heartbeat_to_wire(*beat)),
        }),
        Event::WorkerDraining { worker } => Wire::WorkerDraining(worker_event(*worker)),
        Event::WorkerUndrained { worker } => Wire::WorkerUndrained(worker_event(*worker)),
        Event::WorkerLost { worker } => Wire::WorkerLost(worker_event(*worker)),
        Event::WorkerLeft { worker } => Wire::WorkerLeft(worker_event(*worker)),
        Event::WorkerSilent { worker } => Wire::WorkerSilent(worker_event(*worker)),
        Event::WorkerHeard { worker } => Wire::WorkerHeard(worker_event(*worker)),
        Event::ModelLoaded { worker, model, took } => Wire::ModelLoaded(v1::WorkerModelLoaded {
            worker: worker.0,
            model: model.to_string(),
            took: took.0,
        }),
        Event::WorkerInvited { worker, ticket, terms, expires } => {
            Wire::WorkerInvited(invited_to_wire(worker, *ticket, terms, *expires))
        }
        Event::WorkerKeyBound { worker, key, standing, terms, ticket } => {
            Wire::WorkerKeyBound(v1::WorkerKeyBound {
                worker: worker.to_string(),
                key: key_to_wire(*key),
                standing: standing.to_wire(),
                terms: Some(terms_to_wire(terms)),
                ticket: ticket.map_or_else(Default::default, |ticket| ticket.0.to_vec().into()),
            })
        }
        Event::WorkerKeyRotated { worker, key } => Wire::WorkerKeyRotated(v1::WorkerKeyRotated {
            worker: worker.to_string(),
            key: key_to_wire(*key),
        }),
        Event::WorkerKeyRevoked { worker } => {
            Wire::WorkerKeyRevoked(v1::WorkerKeyRevoked { worker: worker.to_string() })
        }
        Event::Paused { kind } => Wire::Paused(v1::KindEvent { r#type: kind.to_string() }),
        Event::Unpaused { kind } => Wire::Unpaused(v1::KindEvent { r#type: kind.to_string() }),
        Event::Configured { version, config } => Wire::Configured(v1::Configured {
            version: *version,
            config: Some(config_to_wire(config)),
        }),
        Event::PredictorFailed { job, error } => {
            Wire::PredictorFailed(v1::PredictorFailed { job: job.0, error: error.clone() })
        }
        Event::BreakerOpened { until } => Wire::BreakerOpened(v1::BreakerOpened { until: until.0 }),
        Event::BreakerClosed => Wire::BreakerClosed(v1::BreakerClosed {}),
        Event::DriftDetected { kind, error_percent, usual_percent } => {
            Wire::DriftDetected(v1::DriftDetected {
                r#type: kind.to_string(),
                error_percent: *error_percent,
                usual_percent: *usual_percent,
            })
        }
        Event::Warmed { kind, samples } => Wire::Warmed(v1::Warmed {
            r#type: kind.to_string(),
            samples: samples.iter().map(sample_to_wire).collect(),
        }),
        Event::TermsExtended { by } => Wire::TermsExtended(v1::TermsExtended { by: by.0 }),
        Event::Checkpointed { checkpoint } => {
            Wire::CheckpointSigned(checkpoint_to_wire(checkpoint))
        }
        Event::ActorNamed { number, actor } => Wire::ActorNamed(v1::ActorNamed {
            number: number.0,
            name: actor.name.to_string(),
            peer: text(actor.peer.as_ref()),
        }),
        Event::Noted { name, value } => {
            Wire::Noted(v1::Noted { name: name.to_string(), value: value.to_string() })
        }
        Event::ClockStepped { from, to } => {
            Wire::ClockStepped(v1::ClockStepped { from: from.0, to: to.0 })
        }
    }
}

fn sample_to_wire(sample: &Sample) -> v1::Sample {
    v1::Sample {
        sender: text(sample.sender.as_ref()),
        input_bytes: sample.input_bytes,
        cpu: sample.cpu,
        class: sample.class.to_string(),
        started: sample.started.0,
        took: sample.took.0,
    }
}

fn sample_from_wire(wire: &v1::Sample) -> Result<Sample, Malformed> {
    Ok(Sample {
        sender: optional_name("sender", &wire.sender)?,
        input_bytes: wire.input_bytes,
        cpu: wire.cpu,
        class: name("class", &wire.class)?,
        started: Timestamp(wire.started),
        took: Micros(wire.took),
    })
}

fn worker_event(worker: WorkerNo) -> v1::WorkerEvent {
    v1::WorkerEvent { worker: worker.0 }
}

pub fn event_from_wire(wire: Wire) -> Result<Event, Malformed> {
    Ok(match wire {
        Wire::Submitted(m) => {
            let id = optional_name("submitted.run_id", &m.run_id)?;
            let jobs = m.jobs.iter().enumerate().map(|(index, job)| {
                accepted_from_wire(job)
                    .map_err(|error| error.within(format_args!("submitted.jobs[{index}]")))
            });
            Event::Submitted {
                run: id.map(|id| RunHeader { run: RunNo(m.run), id }),
                first: JobNo(m.first),
                jobs: jobs.collect::<Result<_, _>>()?,
            }
        }
        Wire::Assigned(m) => {
            let decision = m.decision.ok_or_else(|| Malformed::missing("assigned.decision"))?;
            let decision =
                decision_from_wire(&decision).map_err(|error| error.within("assigned.decision"))?;
            Event::Assigned {
                job: JobNo(m.job),
                worker: WorkerNo(m.worker),
                hedge: m.hedge,
                decision: Box::new(decision),
            }
        }
        Wire::Started(m) => Event::Started { job: JobNo(m.job), token: Token(m.token) },
        Wire::Granted(m) => Event::Granted { job: JobNo(m.job), token: Token(m.token) },
        Wire::Progressed(m) => Event::Progressed {
            job: JobNo(m.job),
            token: Token(m.token),
            permille: m.permille,
            note: m.note,
        },
        Wire::Completed(m) => Event::Completed {
            job: JobNo(m.job),
            token: Token(m.token),
            result: m.result,
            result_hash: hash("completed.result_hash", &m.result_hash)?,
        },
        Wire::AttemptFailed(m) => Event::AttemptFailed {
            job: JobNo(m.job),
            token: Token(m.token),
            cause: FailureCause::required("attempt_failed.cause", m.cause)?,
            error: m.error,
        },
        Wire::Revoked(m) => Event::Revoked {
            job: JobNo(m.job),
            token: Token(m.token),
            reason: RevokeReason::required("revoked.reason", m.reason)?,
        },
        Wire::HandedOff(m) => {
            let handoff = m.handoff.ok_or_else(|| Malformed::missing("handed_off.handoff"))?;
            let handoff =
                handoff_from_wire(&handoff).map_err(|error| error.within("handed_off.handoff"))?;
            Event::HandedOff {
                job: JobNo(m.job),
                token: Token(m.token),
                handoff: Box::new(handoff),
            }
        }
        Wire::Retried(m) => Event::Retried {
            job: JobNo(m.job),
            not_before: Timestamp(m.not_before),
            avoid: (m.avoid != 0).then_some(WorkerNo(m.avoid)),
        },
        Wire::Escalated(m) => Event::Escalated {
            job: JobNo(m.job),
            priority: Priority::required("escalated.priority", m.priority)?,
            role: optional_name("escalated.role", &m.role)?,
        },
        Wire::DeadLettered(m) => Event::DeadLettered {
            job: JobNo(m.job),
            reason: DeadReason::required("dead_lettered.reason", m.reason)?,
        },
        Wire::Failed(m) => Event::Failed {
            job: JobNo(m.job),
            cause: FailureCause::required("failed.cause", m.cause)?,
        },
        Wire::Skipped(m) => Event::Skipped { job: JobNo(m.job), because: JobNo(m.because) },
        Wire::SkippedByKey(m) => Event::SkippedByKey {
            job: JobNo(m.job),
            key: name("skipped_by_key.key", &m.key)?,
            holder: JobNo(m.holder),
        },
        Wire::Cancelled(m) => Event::Cancelled { job: JobNo(m.job), reason: m.reason },
        Wire::Reopened(m) => Event::Reopened { job: JobNo(m.job) },
        Wire::Due(m) => Event::Due { job: JobNo(m.job) },
        Wire::Pinned(m) => Event::Pinned { job: JobNo(m.job), worker: WorkerNo(m.worker) },
        Wire::WorkerJoined(m) => {
            let spec = m.spec.ok_or_else(|| Malformed::missing("worker_joined.spec"))?;
            let spec =
                worker_spec_from_wire(spec).map_err(|error| error.within("worker_joined.spec"))?;
            Event::WorkerJoined { worker: WorkerNo(m.worker), spec: Arc::new(spec) }
        }
        Wire::WorkerReturned(m) => Event::WorkerReturned { worker: WorkerNo(m.worker) },
        Wire::WorkerReported(m) => Event::WorkerReported {
            worker: WorkerNo(m.worker),
            beat: heartbeat_from_wire(m.beat.unwrap_or_default()),
        },
        Wire::WorkerDraining(m) => Event::WorkerDraining { worker: WorkerNo(m.worker) },
        Wire::WorkerUndrained(m) => Event::WorkerUndrained { worker: WorkerNo(m.worker) },
        Wire::WorkerLost(m) => Event::WorkerLost { worker: WorkerNo(m.worker) },
        Wire::WorkerLeft(m) => Event::WorkerLeft { worker: WorkerNo(m.worker) },
        Wire::WorkerSilent(m) => Event::WorkerSilent { worker: WorkerNo(m.worker) },
        Wire::WorkerHeard(m) => Event::WorkerHeard { worker: WorkerNo(m.worker) },
        Wire::ModelLoaded(m) => Event::ModelLoaded {
            worker: WorkerNo(m.worker),
            model: name("model_loaded.model", &m.model)?,
            took: Micros(m.took),
        },
        Wire::WorkerInvited(m) => {
            invited_from_wire(m).map_err(|error| error.within("worker_invited"))?
        }
        Wire::WorkerKeyBound(m) => {
            bound_from_wire(m).map_err(|error| error.within("worker_key_bound"))?
        }
        Wire::WorkerKeyRotated(m) => Event::WorkerKeyRotated {
            worker: name("worker_key_rotated.worker", &m.worker)?,
            key: key_from_wire("worker_key_rotated.key", &m.key)?,
        },
        Wire::WorkerKeyRevoked(m) => {
            Event::WorkerKeyRevoked { worker: name("worker_key_revoked.worker", &m.worker)? }
        }
        Wire::Paused(m) => Event::Paused { kind: name("paused.type", &m.r#type)? },
        Wire::Unpaused(m) => Event::Unpaused { kind: name("unpaused.type", &m.r#type)? },
        Wire::Configured(m) => {
            let config = m.config.ok_or_else(|| Malformed::missing("configured.config"))?;
            let config =
                config_from_wire(&config).map_err(|error| error.within("configured.config"))?;
            Event::Configured { version: m.version, config: Box::new(config) }
        }
        Wire::PredictorFailed(m) => Event::PredictorFailed { job: JobNo(m.job), error: m.error },
        Wire::BreakerOpened(m) => Event::BreakerOpened { until: Timestamp(m.until) },
        Wire::BreakerClosed(v1::BreakerClosed {}) => Event::BreakerClosed,
        Wire::DriftDetected(m) => Event::DriftDetected {
            kind: name("drift_detected.type", &m.r#type)?,
            error_percent: m.error_percent,
            usual_percent: m.usual_percent,
        },
        Wire::Warmed(m) => {
            at_most("warmed.samples", m.samples.len(), SAMPLES_MAX)?;
            let samples = m.samples.iter().enumerate().map(|(index, sample)| {
                let place = format_args!("warmed.samples[{index}]").to_string();
                sample_from_wire(sample).map_err(|error| error.within(place))
            });
            Event::Warmed {
                kind: name("warmed.type", &m.r#type)?,
                samples: samples.collect::<Result<_, _>>()?,
            }
        }
        Wire::TermsExtended(m) => Event::TermsExtended { by: Micros(m.by) },
        Wire::CheckpointSigned(m) => {
            let checkpoint = checkpoint_from_wire(&m);
            let checkpoint = checkpoint.map_err(|error| error.within("checkpoint_signed"))?;
            Event::Checkpointed { checkpoint: Box::new(checkpoint) }
        }
        Wire::ActorNamed(m) => Event::ActorNamed {
            number: ActorNo(m.number),
            actor: Actor { name: name("name", &m.name)?, peer: optional_name("peer", &m.peer)? },
        },
        Wire::Noted(m) => Event::Noted {
            name: name("noted.name", &m.name)?,
            value: name("noted.value", &m.value)?,
        },
        Wire::ClockStepped(m) => {
            Event::ClockStepped { from: WallAhead(m.from), to: WallAhead(m.to) }
        }
    })
}
