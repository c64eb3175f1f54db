//! Events as people read them.

use bellwether_core::Event;
use bellwether_core::model::{Name, WallAhead};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::checkpoint::checkpoint_to_json;
use super::config::LiveConfig;
use super::decision::Decision;
use super::hex;
use super::unit::{Moment, offset, span};
use super::worker::{Heartbeat, WorkerSpec};
use super::written::{carry, job_spec_to_json};
use crate::worker::worker_spec_to_wire;

/// What the event says; its kind is told by [`Event::name`].
pub fn event_to_json(event: &Event) -> Value {
    struct Whole<'a>(&'a Event);
    impl Serialize for Whole<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            write_event(&mut map, self.0, usize::MAX)?;
            map.end()
        }
    }
    serde_json::to_value(Whole(event)).expect("what is shown is legible")
}

/// The same, without a tree of values in between for the events that every job has. A result that is
/// longer than `carried_max` is left out.
pub(super) fn write_event<M: SerializeMap>(
    map: &mut M,
    event: &Event,
    carried_max: usize,
) -> Result<(), M::Error> {
    match event {
        Event::Assigned { job, worker, hedge, decision } => {
            map.serialize_entry("job", &job.0)?;
            map.serialize_entry("worker", &worker.0)?;
            map.serialize_entry("hedge", hedge)?;
            map.serialize_entry("decision", &Decision::from(&**decision))
        }
        Event::Started { job, token } | Event::Granted { job, token } => {
            map.serialize_entry("job", &job.0)?;
            map.serialize_entry("token", &token.0)
        }
        Event::Completed { job, token, result, result_hash } => {
            map.serialize_entry("job", &job.0)?;
            map.serialize_entry("token", &token.0)?;
            carry(map, "result", result, carried_max)?;
            map.serialize_entry("result_hash", &hex(result_hash))
        }
        event => {
            let Value::Object(fields) = rarer(event) else { unreachable!("an event is an object") };
            let mut said = fields.iter().filter(|(_, value)| !value.is_null());
            said.try_for_each(|(name, value)| map.serialize_entry(name, value))
        }
    }
}

fn rarer(event: &Event) -> Value {
    match event {
        Event::Submitted { run, first, jobs } => json!({
            "run": run.as_ref().map(|run| run.id.as_str()),
            "first": first.0,
            "jobs": jobs.iter().map(|job| job_spec_to_json(&job.spec)).collect::<Vec<_>>(),
        }),
        Event::Assigned { .. }
        | Event::Started { .. }
        | Event::Granted { .. }
        | Event::Completed { .. } => unreachable!("these are written field by field"),
        Event::Progressed { job, token, permille, note } => {
            json!({ "job": job.0, "token": token.0, "permille": permille, "note": note })
        }
        Event::AttemptFailed { job, token, cause, error } => {
            json!({ "job": job.0, "token": token.0, "cause": cause.as_str(), "error": error })
        }
        Event::Revoked { job, token, reason } => {
            json!({ "job": job.0, "token": token.0, "reason": reason.as_str() })
        }
        Event::HandedOff { job, token, handoff } => json!({
            "job": job.0,
            "token": token.0,
            "from": handoff.from.as_str(),
            "receiver": handoff.receiver.to_string(),
            "payload_hash": hex(&handoff.payload_hash),
            "key": handoff.key.to_string(),
            "expires": Moment(handoff.expires),
        }),
        Event::Retried { job, not_before, avoid } => json!({
            "job": job.0,
            "not_before": Moment(*not_before),
            "avoid": avoid.map(|worker| worker.0),
        }),
        Event::Escalated { job, priority, role } => json!({
            "job": job.0,
            "priority": priority.as_str(),
            "role": role.as_ref().map(|role| role.as_str()),
        }),
        Event::DeadLettered { job, reason } => {
            json!({ "job": job.0, "reason": reason.as_str() })
        }
        Event::Failed { job, cause } => json!({ "job": job.0, "cause": cause.as_str() }),
        Event::Skipped { job, because } => json!({ "job": job.0, "because": because.0 }),
        Event::SkippedByKey { job, key, holder } => {
            json!({ "job": job.0, "key": key.as_str(), "holder": holder.0 })
        }
        Event::Cancelled { job, reason } => json!({ "job": job.0, "reason": reason }),
        Event::Reopened { job } | Event::Due { job } => json!({ "job": job.0 }),
        Event::Pinned { job, worker } => json!({ "job": job.0, "worker": worker.0 }),
        Event::WorkerJoined { worker, spec } => {
            json!({ "worker": worker.0, "spec": WorkerSpec::from(worker_spec_to_wire(spec)) })
        }
        Event::WorkerReported { worker, beat } => {
            json!({ "worker": worker.0, "beat": Heartbeat::from(beat) })
        }
        Event::WorkerReturned { worker }
        | Event::WorkerDraining { worker }
        | Event::WorkerUndrained { worker }
        | Event::WorkerLost { worker }
        | Event::WorkerLeft { worker }
        | Event::WorkerSilent { worker }
        | Event::WorkerHeard { worker } => json!({ "worker": worker.0 }),
        Event::ModelLoaded { worker, model, took } => {
            json!({ "worker": worker.0, "model": model.as_str(), "took": span(*took) })
        }
        Event::WorkerInvited { worker, terms, expires, .. } => json!({
            "worker": worker.as_str(),
            "roles": listed(&terms.roles),
            "types": listed(&terms.types),
            "namespace": terms.namespace.as_ref().map(|name| name.as_str()),
            "expires": Moment(*expires),
        }),
        Event::WorkerKeyBound { worker, key, standing, terms, .. } => json!({
            "worker": worker.as_str(),
            "key": key.to_string(),
            "standing": standing.as_str(),
            "roles": listed(&terms.roles),
            "types": listed(&terms.types),
            "namespace": terms.namespace.as_ref().map(|name| name.as_str()),
        }),
        Event::WorkerKeyRotated { worker, key } => {
            json!({ "worker": worker.as_str(), "key": key.to_string() })
        }
        Event::WorkerKeyRevoked { worker } => json!({ "worker": worker.as_str() }),
        Event::Paused { kind } | Event::Unpaused { kind } => json!({ "type": kind.as_str() }),
        Event::Configured { version, config } => {
            json!({ "version": version, "config": LiveConfig::from(&**config) })
        }
        Event::PredictorFailed { job, error } => json!({ "job": job.0, "error": error }),
        Event::BreakerOpened { until } => json!({ "until": Moment(*until) }),
        Event::BreakerClosed => json!({}),
        Event::DriftDetected { kind, error_percent, usual_percent } => json!({
            "type": kind.as_str(), "error_percent": error_percent, "usual_percent": usual_percent,
        }),
        Event::Warmed { kind, samples } => {
            json!({ "type": kind.as_str(), "samples": samples.len() })
        }
        Event::TermsExtended { by } => json!({ "by": span(*by) }),
        Event::Checkpointed { checkpoint } => checkpoint_to_json(checkpoint),
        Event::ActorNamed { number, actor } => json!({
            "number": number.0,
            "name": actor.name.as_str(),
            "peer": actor.peer.as_ref().map(|peer| peer.as_str()),
        }),
        Event::Noted { name, value } => {
            json!({ "name": name.as_str(), "value": value.as_str() })
        }
        Event::ClockStepped { from, to } => json!({
            "by": offset(WallAhead(to.0.saturating_sub(from.0))),
            "wall_clock_ahead": offset(*to),
        }),
    }
}

fn listed(names: &[Name]) -> Vec<&str> {
    names.iter().map(Name::as_str).collect()
}
