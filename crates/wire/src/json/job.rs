//! One job.

use bellwether_core::model::{Guarantee, JobSpec, Micros, OnFailure, Priority, Target, Timestamp};
use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::field::{Fields, choice, fields, seconds, take, text, texts, wrong};
use super::hex;
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

const PRIORITIES: &str = "it must be low, normal, high or critical (or 25, 50, 75 or 100)";

/// Reads a job. Names and bounds are checked where the job is taken.
pub fn job_from_json(raw: &RawValue) -> Result<v1::NewJob, Malformed> {
    job_of(Fields::of(raw)?)
}

/// The same, of an object that has been taken apart.
pub(super) fn job_of(fields: Fields<'_>) -> Result<v1::NewJob, Malformed> {
    let mut fields = fields.only(&FIELDS)?;
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
            Guarantee::parse,
        )?
        .map_or(0, Mirror::to_wire),
        idempotency_key: text(&mut fields, "idempotency_key")?,
        delay: seconds(&mut fields, "delay")?.unwrap_or(Micros::ZERO).0,
        not_before: moment(&mut fields, "not_before")?.0,
        tags: texts(&mut fields, "tags")?,
        on_failure: choice(&mut fields, "on_failure", "it must be skip or run", OnFailure::parse)?
            .map_or(0, Mirror::to_wire),
        escalation: escalation(&mut fields)?,
        input_bytes: take(&mut fields, "input_bytes", "it must be a whole number of bytes")?,
        trace_parent: text(&mut fields, "trace_parent")?,
    })
}

fn priority(fields: &mut Fields<'_>) -> Result<i32, Malformed> {
    let found = choice(fields, "priority", PRIORITIES, |word| {
        Priority::ALL
            .into_iter()
            .find(|priority| priority.as_str() == word || priority.points().to_string() == word)
    })?;
    Ok(found.map_or(0, Mirror::to_wire))
}

/// Millicores and bytes, given as fields of the job or of its `resources`.
fn resources(outer: &mut Fields<'_>) -> Result<(u32, u64), Malformed> {
    let mut given = match outer.remove("resources") {
        None => Fields::default(),
        Some(raw) => fields(raw, &["cpu", "memory"]).map_err(|error| error.within("resources"))?,
    };
    for name in ["cpu", "memory"] {
        if let Some(raw) = outer.remove(name) {
            given.insert(name, raw);
        }
    }
    let cpu = take(&mut given, "cpu", "it must be a whole number of millicores")?;
    let memory = take(&mut given, "memory", "it must be a whole number of bytes")?;
    Ok((cpu.unwrap_or_default(), memory.unwrap_or_default()))
}

fn escalation(outer: &mut Fields<'_>) -> Result<Option<v1::Escalation>, Malformed> {
    let Some(raw) = outer.remove("escalation") else { return Ok(None) };
    let read = || {
        let mut given = fields(raw, &["priority", "role"])?;
        Ok(v1::Escalation { priority: priority(&mut given)?, role: text(&mut given, "role")? })
    };
    read().map(Some).map_err(|error: Malformed| error.within("escalation"))
}

/// Seconds since the Unix epoch, or a time as `2027-01-31T08:00:00Z`.
fn moment(fields: &mut Fields<'_>, name: &str) -> Result<Timestamp, Malformed> {
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
        wrong(name, raw, "it must be a time as 2027-01-31T08:00:00Z, or seconds since 1970")
    })
}

/// The job as it was taken, with the names that it was written with.
pub fn job_spec_to_json(spec: &JobSpec) -> Value {
    serde_json::to_value(WrittenJob { spec, carried_max: usize::MAX }).expect("it has a JSON form")
}

/// The same, written without a tree of values in between.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenJob<'a> {
    pub(super) spec: &'a JobSpec,
    /// A longer payload is left out.
    pub(super) carried_max: usize,
}

impl Serialize for WrittenJob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spec = self.spec;
        let mut job = serializer.serialize_map(None)?;
        job.serialize_entry("id", &spec.id)?;
        job.serialize_entry("type", spec.kind())?;
        job.serialize_entry("priority", spec.priority.as_str())?;
        carry(&mut job, "payload", &spec.payload, self.carried_max)?;
        job.serialize_entry("timeout", &(spec.timeout.0 as f64 / 1e6))?;
        job.serialize_entry("retry", &spec.retry)?;
        job.serialize_entry("guarantee", spec.guarantee.as_str())?;
        let optional = [
            ("node", &spec.node),
            ("sender", &spec.sender),
            ("idempotency_key", &spec.idempotency_key),
            ("model", &spec.requirements.model),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                job.serialize_entry(name, value)?;
            }
        }
        match &spec.requirements.target {
            Target::Any => {}
            Target::Role(role) => job.serialize_entry("role", role)?,
            Target::Receiver(worker) => job.serialize_entry("receiver", worker)?,
        }
        let resources = spec.requirements.resources;
        if resources.cpu > 0 {
            job.serialize_entry("cpu", &resources.cpu)?;
        }
        if resources.memory > 0 {
            job.serialize_entry("memory", &resources.memory)?;
        }
        if !spec.requirements.capabilities.is_empty() {
            job.serialize_entry("capabilities", &spec.requirements.capabilities)?;
        }
        if !spec.tags.is_empty() {
            job.serialize_entry("tags", &spec.tags)?;
        }
        if spec.not_before > Timestamp(0) {
            job.serialize_entry("not_before", &(spec.not_before.0 as f64 / 1e6))?;
        }
        if let Some(trace_parent) = &spec.trace_parent {
            job.serialize_entry("trace_parent", &trace_parent.to_string())?;
        }
        if spec.on_failure == OnFailure::Run {
            job.serialize_entry("on_failure", "run")?;
        }
        job.end()
    }
}

/// A payload or a result, unless it is too long; then how long it was.
pub(super) fn carry<M: SerializeMap>(
    map: &mut M,
    name: &str,
    bytes: &[u8],
    max: usize,
) -> Result<(), M::Error> {
    if bytes.len() <= max {
        return map.serialize_entry(name, &Carried(bytes));
    }
    map.serialize_entry(name, &())?;
    map.serialize_entry(&format!("{name}_left_out_bytes"), &bytes.len())
}

/// As JSON if it is that, as text if it is that, else in hexadecimal.
pub fn payload_to_json(bytes: &[u8]) -> Value {
    serde_json::to_value(Carried(bytes)).expect("it has a JSON form")
}

/// A payload or a result.
#[derive(Debug, Clone, Copy)]
struct Carried<'a>(&'a [u8]);

impl Serialize for Carried<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0;
        if bytes.is_empty() {
            return serializer.serialize_unit();
        }
        // As it stands, if it stands on one line: what is written here may have to.
        let one_line = !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        if one_line && let Ok(raw) = serde_json::from_slice::<&RawValue>(bytes) {
            return raw.serialize(serializer);
        }
        if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
            return value.serialize(serializer);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => json!({ "hex": hex(bytes) }).serialize(serializer),
        }
    }
}
