//! Events as people read them.

use bellwether_core::Event;
use bellwether_core::event::DeadReason;
use bellwether_core::model::{FailureCause, RevokeReason};
use serde_json::{Value, json};

use super::job::{job_spec_to_json, payload_to_json};

/// What the event says; its kind is told by [`Event::name`].
pub fn event_to_json(event: &Event) -> Value {
    match event {
        Event::Submitted { run, first, jobs } => json!({
            "run": run.as_ref().map(|run| &run.id),
            "first": first,
            "jobs": jobs.iter().map(|job| job_spec_to_json(job)).collect::<Vec<_>>(),
        }),
        Event::Assigned { job, worker, hedge, decision } => json!({
            "job": job, "worker": worker, "hedge": hedge, "decision": decision,
        }),
        Event::Started { job, token } | Event::Granted { job, token } => {
            json!({ "job": job, "token": token })
        }
        Event::Progressed { job, token, permille, note } => {
            json!({ "job": job, "token": token, "permille": permille, "note": note })
        }
        Event::Completed { job, token, result, result_hash } => {
            let hash: String = result_hash.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "job": job, "token": token, "result": payload_to_json(result), "result_hash": hash,
            })
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
