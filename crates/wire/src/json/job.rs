//! One job.

use bellwether_core::model::{Guarantee, JobSpec, Micros, OnFailure, Priority, Target, Timestamp};
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::field::{Fields, choice, fields, seconds, take, text, texts, wrong};
use crate::malformed::Malformed;
use crate::{Mirror, v1};

pub const FIELDS: [&str; 25] = [
    "id",
    "node",
    "type",
    "priority",
    "payload",
    "dependencies",
    "timeout",
    "retry",
    "sender",
    "receiver",
    "role",
    "cpu",
    "memory",
    "resources",
    "capabilities",
    "model",
    "guarantee",
    "idempotency_key",
    "delay",
    "not_before",
    "tags",
    "on_failure",
    "escalation",
    "input_bytes",
    "trace_parent",
];

const GUARANTEES: [Guarantee; 3] =
    [Guarantee::AtMostOnce, Guarantee::AtLeastOnce, Guarantee::ExactlyOnce];

const PRIORITIES: &str = "it must be low, normal, high or critical (or 25, 50, 75 or 100)";

/// Reads a job. Names and bounds are checked where the job is taken.
pub fn job_from_json(raw: &RawValue) -> Result<v1::NewJob, Malformed> {
    let mut fields = fields(raw, &FIELDS)?;
    let payload = fields.remove("payload");
    let (cpu, memory) = resources(&mut fields)?;
    Ok(v1::NewJob {
        id: text(&mut fields, "id")?,
        node: text(&mut fields, "node")?,
        r#type: text(&mut fields, "type")?,
        priority: priority(&mut fields)?,
        payload: payload
            .map_or_else(Bytes::new, |raw| Bytes::copy_from_slice(raw.get().as_bytes())),
        dependencies: texts(&mut fields, "dependencies")?,
        timeout: seconds(&mut fields, "timeout")?.map(|span| span.0),
        retry: take(&mut fields, "retry", "it must be a whole number, 0 or more")?,
        sender: text(&mut fields, "sender")?,
        receiver: text(&mut fields, "receiver")?,
        role: text(&mut fields, "role")?,
        cpu,
        memory,
        capabilities: texts(&mut fields, "capabilities")?,
        model: text(&mut fields, "model")?,
        guarantee: choice(
            &mut fields,
            "guarantee",
            "it must be at_most_once, at_least_once or exactly_once",
            |word| GUARANTEES.into_iter().find(|guarantee| guarantee.as_str() == word),
        )?
        .map_or(0, Mirror::to_wire),
        idempotency_key: text(&mut fields, "idempotency_key")?,
        delay: seconds(&mut fields, "delay")?.unwrap_or(Micros::ZERO).0,
        not_before: moment(&mut fields, "not_before")?.0,
        tags: texts(&mut fields, "tags")?,
        on_failure: choice(
            &mut fields,
            "on_failure",
            "it must be skip or run",
            |word| match word {
                "skip" => Some(OnFailure::Skip),
                "run" => Some(OnFailure::Run),
                _ => None,
            },
        )?
        .map_or(0, Mirror::to_wire),
        escalation: escalation(&mut fields)?,
        input_bytes: take(&mut fields, "input_bytes", "it must be a whole number of bytes")?,
        trace_parent: text(&mut fields, "trace_parent")?,
    })
}

fn priority(fields: &mut Fields) -> Result<i32, Malformed> {
    let found = choice(fields, "priority", PRIORITIES, |word| {
        Priority::ALL
            .into_iter()
            .find(|priority| priority.as_str() == word || priority.points().to_string() == word)
    })?;
    Ok(found.map_or(0, Mirror::to_wire))
}

/// Millicores and bytes, given as fields of the job or of its `resources`.
fn resources(outer: &mut Fields) -> Result<(u32, u64), Malformed> {
    let mut given = match outer.remove("resources") {
        None => Fields::new(),
        Some(raw) => fields(&raw, &["cpu", "memory"]).map_err(|error| error.within("resources"))?,
    };
    for name in ["cpu", "memory"] {
        if let Some(raw) = outer.remove(name) {
            given.insert(name.to_owned(), raw);
        }
    }
    let cpu = take(&mut given, "cpu", "it must be a whole number of millicores")?;
    let memory = take(&mut given, "memory", "it must be a whole number of bytes")?;
    Ok((cpu.unwrap_or_default(), memory.unwrap_or_default()))
}

fn escalation(outer: &mut Fields) -> Result<Option<v1::Escalation>, Malformed> {
    let Some(raw) = outer.remove("escalation") else { return Ok(None) };
    let read = || {
        let mut given = fields(&raw, &["priority", "role"])?;
        Ok(v1::Escalation { priority: priority(&mut given)?, role: text(&mut given, "role")? })
    };
    read().map(Some).map_err(|error: Malformed| error.within("escalation"))
}

/// Seconds since the Unix epoch, or a time as `2027-01-31T08:00:00Z`.
fn moment(fields: &mut Fields, name: &str) -> Result<Timestamp, Malformed> {
    let is_text = fields.get(name).is_some_and(|raw| raw.get().starts_with('"'));
    if !is_text {
        return Ok(Timestamp(seconds(fields, name)?.unwrap_or(Micros::ZERO).0));
    }
    let raw = fields.remove(name).expect("it was just found");
    let time = serde_json::from_str::<String>(raw.get())
        .ok()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .and_then(|time| u64::try_from(time.as_microsecond()).ok());
    time.map(Timestamp).ok_or_else(|| {
        wrong(name, &raw, "it must be a time as 2027-01-31T08:00:00Z, or seconds since 1970")
    })
}

/// The job as it was taken, with the names that it was written with.
pub fn job_spec_to_json(spec: &JobSpec) -> Value {
    let mut job = Map::new();
    let mut set = |name: &str, value: Value| drop(job.insert(name.to_owned(), value));
    set("id", json!(spec.id));
    set("type", json!(spec.kind()));
    set("priority", json!(spec.priority.as_str()));
    set("payload", payload_to_json(&spec.payload));
    set("timeout", json!(spec.timeout.0 as f64 / 1e6));
    set("retry", json!(spec.retry));
    set("guarantee", json!(spec.guarantee.as_str()));
    let optional = [
        ("node", &spec.node),
        ("sender", &spec.sender),
        ("idempotency_key", &spec.idempotency_key),
        ("model", &spec.requirements.model),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            set(name, json!(value));
        }
    }
    match &spec.requirements.target {
        Target::Any => {}
        Target::Role(role) => set("role", json!(role)),
        Target::Receiver(worker) => set("receiver", json!(worker)),
    }
    let resources = spec.requirements.resources;
    if resources.cpu > 0 {
        set("cpu", json!(resources.cpu));
    }
    if resources.memory > 0 {
        set("memory", json!(resources.memory));
    }
    if !spec.requirements.capabilities.is_empty() {
        set("capabilities", json!(spec.requirements.capabilities));
    }
    if !spec.tags.is_empty() {
        set("tags", json!(spec.tags));
    }
    if spec.not_before > Timestamp(0) {
        set("not_before", json!(spec.not_before.0 as f64 / 1e6));
    }
    if let Some(trace_parent) = &spec.trace_parent {
        set("trace_parent", json!(trace_parent.to_string()));
    }
    if spec.on_failure == OnFailure::Run {
        set("on_failure", json!("run"));
    }
    Value::Object(job)
}

/// As JSON if it is that, as text if it is that, else in hexadecimal.
pub fn payload_to_json(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| match std::str::from_utf8(bytes) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": hex })
        }
    })
}
