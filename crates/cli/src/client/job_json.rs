//! Jobs as JSON.

use bellwether_core::model::FailureCause;
use bellwether_sdk::v1;
use bellwether_wire::Mirror as _;
use bellwether_wire::job::job_spec_from_wire;
use bellwether_wire::json::hex;
use bellwether_wire::json::job::{job_spec_to_json, payload_to_json};
use serde_json::{Map, Value, json};

/// The fields that the job was submitted with, and what became of it.
pub(super) fn job_to_json(job: &v1::Job) -> Value {
    let mut object = spec(job);
    let mut set = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    set("number", json!(job.job));
    set("state", json!(job.state().as_str()));
    set("dependencies", json!(job.dependencies));
    set("run", optional(&job.run_id));
    set("submitted_at", time(job.submitted_at));
    set("started_at", time(job.started_at));
    set("ended_at", time(job.ended_at));
    set("failures", json!(job.failures));
    set("crashes", json!(job.crashes));
    set("attempts", job.attempts.iter().map(attempt_to_json).collect());
    set("result", payload_to_json(&job.result));
    set("result_hash", optional(&hex(&job.result_hash)));
    set("explanation", optional(&job.explanation));
    let progress = json!({ "permille": job.progress_permille, "note": job.progress_note });
    set("progress", progress);
    set("position", json!(job.position));
    Value::Object(object)
}

fn spec(job: &v1::Job) -> Map<String, Value> {
    let Some(spec) = &job.spec else { return Map::new() };
    match job_spec_from_wire(spec.clone()).map(|spec| job_spec_to_json(&spec)) {
        Ok(Value::Object(object)) => object,
        // A scheduler of another version may say more than we can read; the id is always there.
        _ => Map::from_iter([("id".to_owned(), json!(spec.id))]),
    }
}

fn attempt_to_json(attempt: &v1::AttemptView) -> Value {
    json!({
        "token": attempt.token,
        "worker": attempt.worker,
        "state": attempt.state().as_str(),
        "hedge": attempt.hedge,
        "offered_at": time(attempt.offered_at),
        "started_at": time(attempt.started_at),
        "ended_at": time(attempt.ended_at),
        "cause": FailureCause::from_wire(attempt.cause).map(FailureCause::as_str),
        "error": optional(&attempt.error),
        "decision": attempt.decision.as_ref().map(decision_to_json),
    })
}

fn decision_to_json(decision: &v1::Decision) -> Value {
    let losers: Vec<Value> = decision
        .losers
        .iter()
        .map(|loser| json!({ "worker": loser.worker, "score": loser.score as f64 / 1e6 }))
        .collect();
    json!({
        "reason": decision.reason.as_ref().map(|reason| reason.kind().as_str()),
        "score": decision.score as f64 / 1e6,
        "predicted_wait_ms": decision.predicted_wait as f64 / 1e3,
        "predicted_duration_ms": decision.predicted_duration as f64 / 1e3,
        "confidence_percent": decision.confidence_percent,
        "fallback": decision.fallback,
        "load_model": decision.load_model,
        "losers": losers,
    })
}

/// As 2027-01-31T08:00:00.5Z; null if it has not happened.
pub(super) fn time(micros: u64) -> Value {
    time_text(micros).map_or(Value::Null, Value::String)
}

pub(super) fn time_text(micros: u64) -> Option<String> {
    if micros == 0 {
        return None;
    }
    let micros = i64::try_from(micros).ok()?;
    Some(jiff::Timestamp::from_microsecond(micros).ok()?.to_string())
}

fn optional(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}
