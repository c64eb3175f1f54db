//! Jobs as the journal keeps them.

use std::sync::Arc;

use bellwether_core::model::limits::{DEPENDENCIES_MAX, LABELS_MAX};
use bellwether_core::model::{
    Escalation, Guarantee, JobNo, JobSpec, Micros, Name, OnFailure, Priority, Requirements,
    Resources, Target, Timestamp, TraceParent,
};
use bytes::Bytes;

use crate::malformed::{Malformed, Problem, at_most, label_set, name, names, optional_name};
use crate::{Mirror, v1};

pub fn job_spec_to_wire(spec: &JobSpec) -> v1::JobSpec {
    v1::JobSpec {
        id: spec.id.to_string(),
        node: text(spec.node.as_ref()),
        requirements: Some(requirements_to_wire(&spec.requirements)),
        priority: spec.priority.to_wire(),
        guarantee: spec.guarantee.to_wire(),
        on_failure: spec.on_failure.to_wire(),
        payload: spec.payload.clone(),
        dependencies: spec.dependencies.iter().map(|job| job.0).collect(),
        timeout: spec.timeout.0,
        retry: spec.retry,
        sender: text(spec.sender.as_ref()),
        idempotency_key: text(spec.idempotency_key.as_ref()),
        not_before: spec.not_before.0,
        tags: texts(&spec.tags),
        escalation: spec.escalation.as_deref().map(escalation_to_wire),
        input_bytes: spec.input_bytes,
        predicted: spec.predicted.0,
        rank: spec.rank,
        doomed: spec.doomed,
        trace_parent: trace_to_wire(spec.trace_parent.as_deref()),
    }
}

pub fn job_spec_from_wire(wire: v1::JobSpec) -> Result<JobSpec, Malformed> {
    at_most("dependencies", wire.dependencies.len(), DEPENDENCIES_MAX)?;
    let requirements =
        wire.requirements.as_ref().ok_or_else(|| Malformed::missing("requirements"))?;
    Ok(JobSpec {
        id: name("id", &wire.id)?,
        node: optional_name("node", &wire.node)?,
        requirements: Arc::new(
            requirements_from_wire(requirements).map_err(|e| e.within("requirements"))?,
        ),
        priority: Priority::required("priority", wire.priority)?,
        guarantee: Guarantee::required("guarantee", wire.guarantee)?,
        on_failure: OnFailure::required("on_failure", wire.on_failure)?,
        payload: wire.payload,
        dependencies: wire.dependencies.into_iter().map(JobNo).collect(),
        timeout: Micros(wire.timeout),
        retry: wire.retry,
        sender: optional_name("sender", &wire.sender)?,
        idempotency_key: optional_name("idempotency_key", &wire.idempotency_key)?,
        not_before: Timestamp(wire.not_before),
        tags: names("tags", &wire.tags, LABELS_MAX)?.into(),
        escalation: wire
            .escalation
            .map(|escalation| escalation_from_wire(&escalation).map(Box::new))
            .transpose()?,
        input_bytes: wire.input_bytes,
        predicted: Micros(wire.predicted),
        rank: wire.rank,
        doomed: wire.doomed,
        trace_parent: trace_from_wire(&wire.trace_parent)?.map(Box::new),
    })
}

fn trace_to_wire(trace: Option<&TraceParent>) -> Bytes {
    trace.map_or_else(Bytes::new, |trace| Bytes::copy_from_slice(&trace.to_bytes()))
}

fn trace_from_wire(bytes: &[u8]) -> Result<Option<TraceParent>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let given = || format!("{} bytes long", bytes.len());
    let read = TraceParent::from_bytes(bytes);
    read.map(Some)
        .map_err(|_| Malformed::not_allowed("trace_parent", given(), "it must be two ids"))
}

fn requirements_to_wire(requirements: &Requirements) -> v1::Requirements {
    let (role, receiver) = match &requirements.target {
        Target::Any => (String::new(), String::new()),
        Target::Role(role) => (role.to_string(), String::new()),
        Target::Receiver(worker) => (String::new(), worker.to_string()),
    };
    v1::Requirements {
        r#type: requirements.kind.to_string(),
        role,
        receiver,
        cpu: requirements.resources.cpu,
        memory: requirements.resources.memory,
        capabilities: texts(&requirements.capabilities),
        model: text(requirements.model.as_ref()),
    }
}

fn requirements_from_wire(wire: &v1::Requirements) -> Result<Requirements, Malformed> {
    Ok(Requirements {
        kind: name("type", &wire.r#type)?,
        target: target(&wire.role, &wire.receiver)?,
        resources: Resources { cpu: wire.cpu, memory: wire.memory },
        capabilities: label_set("capabilities", &wire.capabilities, LABELS_MAX)?,
        model: optional_name("model", &wire.model)?,
    })
}

pub(crate) fn target(role: &str, receiver: &str) -> Result<Target, Malformed> {
    match (optional_name("role", role)?, optional_name("receiver", receiver)?) {
        (None, None) => Ok(Target::Any),
        (Some(role), None) => Ok(Target::Role(role)),
        (None, Some(worker)) => Ok(Target::Receiver(worker)),
        (Some(_), Some(_)) => Err(Malformed::new("receiver", Problem::Excludes { other: "role" })),
    }
}

pub(crate) fn escalation_to_wire(escalation: &Escalation) -> v1::Escalation {
    v1::Escalation {
        priority: escalation.priority.map_or(0, Mirror::to_wire),
        role: text(escalation.role.as_ref()),
    }
}

pub(crate) fn escalation_from_wire(wire: &v1::Escalation) -> Result<Escalation, Malformed> {
    let read = || {
        Ok(Escalation {
            priority: Priority::optional("priority", wire.priority)?,
            role: optional_name("role", &wire.role)?,
        })
    };
    read().map_err(|error: Malformed| error.within("escalation"))
}

pub(crate) fn text(name: Option<&Name>) -> String {
    name.map_or_else(String::new, Name::to_string)
}

pub(crate) fn texts(names: &[Name]) -> Vec<String> {
    names.iter().map(Name::to_string).collect()
}
