//! Events as people read them.

use bellwether_core::event::{DeadReason, Reason, Score};
use bellwether_core::model::{FailureCause, Micros, RevokeReason, Strategy};
use bellwether_core::{Decision, Event};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::cloud_event::CARRIED_BYTES_MAX;
use super::hex;
use super::job::{carry, job_spec_to_json};

/// What the event says; its kind is told by [`Event::name`].
pub fn event_to_json(event: &Event) -> Value {
    struct Whole<'a>(&'a Event);
    impl Serialize for Whole<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            write_event(&mut map, self.0, Detail::Everything)?;
            map.end()
        }
    }
    serde_json::to_value(Whole(event)).expect("it has a JSON form")
}

/// How much of an event is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Everything,
    /// For those who want to know what happens: without long results, and without the workers that
    /// were not chosen. Who asks why asks for an explanation.
    Brief,
}

/// The same, without a tree of values in between for the events that every job has.
pub(super) fn write_event<M: SerializeMap>(
    map: &mut M,
    event: &Event,
    detail: Detail,
) -> Result<(), M::Error> {
    match event {
        Event::Assigned { job, worker, hedge, decision } => {
            map.serialize_entry("job", job)?;
            map.serialize_entry("worker", worker)?;
            map.serialize_entry("hedge", hedge)?;
            match detail {
                Detail::Everything => map.serialize_entry("decision", decision),
                Detail::Brief => map.serialize_entry("decision", &brief(decision)),
            }
        }
        Event::Started { job, token } | Event::Granted { job, token } => {
            map.serialize_entry("job", job)?;
            map.serialize_entry("token", token)
        }
        Event::Completed { job, token, result, result_hash } => {
            map.serialize_entry("job", job)?;
            map.serialize_entry("token", token)?;
            let carried_max = match detail {
                Detail::Everything => usize::MAX,
                Detail::Brief => CARRIED_BYTES_MAX,
            };
            carry(map, "result", result, carried_max)?;
            map.serialize_entry("result_hash", &hex(result_hash))
        }
        event => {
            let Value::Object(fields) = rarer(event) else { unreachable!("an event is an object") };
            fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
        }
    }
}

fn brief(decision: &Decision) -> impl Serialize {
    #[derive(Serialize)]
    struct Brief<'a> {
        strategy: &'a Strategy,
        fallback: bool,
        score: Score,
        predicted_wait: Micros,
        predicted_duration: Micros,
        confidence_percent: u8,
        load_model: bool,
        reason: &'a Reason,
    }
    Brief {
        strategy: &decision.strategy,
        fallback: decision.fallback,
        score: decision.score,
        predicted_wait: decision.predicted_wait,
        predicted_duration: decision.predicted_duration,
        confidence_percent: decision.confidence_percent,
        load_model: decision.load_model,
        reason: &decision.reason,
    }
}

fn rarer(event: &Event) -> Value {
    match event {
        Event::Submitted { run, first, jobs } => json!({
            "run": run.as_ref().map(|run| &run.id),
            "first": first,
            "jobs": jobs.iter().map(|job| job_spec_to_json(job)).collect::<Vec<_>>(),
        }),
        Event::Assigned { .. }
        | Event::Started { .. }
        | Event::Granted { .. }
        | Event::Completed { .. } => unreachable!("these are written field by field"),
        Event::Progressed { job, token, permille, note } => {
            json!({ "job": job, "token": token, "permille": permille, "note": note })
        }
        Event::AttemptFailed { job, token, cause, error } => {
            json!({ "job": job, "token": token, "cause": cause_name(*cause), "error": error })
        }
        Event::Revoked { job, token, reason } => {
            json!({ "job": job, "token": token, "reason": revoke_name(*reason) })
        }
        Event::Retried { job, not_before } => json!({ "job": job, "not_before": not_before }),
        Event::Escalated { job, priority, role } => {
            json!({ "job": job, "priority": priority.as_str(), "role": role })
        }
        Event::DeadLettered { job, reason } => json!({ "job": job, "reason": dead_name(*reason) }),
        Event::Failed { job, cause } => json!({ "job": job, "cause": cause_name(*cause) }),
        Event::Skipped { job, because } => json!({ "job": job, "because": because }),
        Event::Cancelled { job, reason } => json!({ "job": job, "reason": reason }),
        Event::Reopened { job } | Event::Due { job } => json!({ "job": job }),
        Event::Pinned { job, worker } => json!({ "job": job, "worker": worker }),
        Event::WorkerJoined { worker, spec } => json!({ "worker": worker, "spec": spec }),
        Event::WorkerReported { worker, beat } => json!({ "worker": worker, "beat": beat }),
        Event::WorkerReturned { worker }
        | Event::WorkerDraining { worker }
        | Event::WorkerUndrained { worker }
        | Event::WorkerLost { worker }
        | Event::WorkerLeft { worker } => json!({ "worker": worker }),
        Event::ModelLoaded { worker, model, took } => {
            json!({ "worker": worker, "model": model, "took_us": took })
        }
        Event::Paused { kind } | Event::Unpaused { kind } => json!({ "type": kind }),
        Event::Configured { version, config } => json!({ "version": version, "config": config }),
        Event::PredictorFailed { job, error } => json!({ "job": job, "error": error }),
        Event::BreakerOpened { until } => json!({ "until": until }),
        Event::BreakerClosed => json!({}),
        Event::DriftDetected { kind, error_percent, usual_percent } => json!({
            "type": kind, "error_percent": error_percent, "usual_percent": usual_percent,
        }),
        Event::Warmed { kind, samples } => json!({ "type": kind, "samples": samples.len() }),
    }
}

pub fn cause_name(cause: FailureCause) -> &'static str {
    match cause {
        FailureCause::Failed => "failed",
        FailureCause::TimedOut => "timed_out",
        FailureCause::Stalled => "stalled",
        FailureCause::WorkerLost => "worker_lost",
        FailureCause::Undelivered => "undelivered",
        FailureCause::Returned => "returned",
        FailureCause::Permanent => "permanent",
    }
}

pub fn revoke_name(reason: RevokeReason) -> &'static str {
    match reason {
        RevokeReason::HedgeLost => "hedge_lost",
        RevokeReason::Cancelled => "cancelled",
        RevokeReason::GivenUp => "given_up",
        RevokeReason::Unknown => "unknown",
    }
}

pub fn dead_name(reason: DeadReason) -> &'static str {
    match reason {
        DeadReason::RetriesUsedUp => "retries_used_up",
        DeadReason::Poison => "poison",
    }
}
