//! What workers say and are told.

use bellwether_core::effect::Offer;
use bellwether_core::model::limits::{
    LABELS_MAX, SPEED_PERMILLE_MAX, TEXT_BYTES_MAX, TYPES_MAX, WORKER_SLOTS_MAX,
};
use bellwether_core::model::{
    FailureCause, Heartbeat, HeldAttempt, JobNo, Micros, Name, Resources, RevokeReason, RunId,
    Token, TraceParent, WorkerSpec,
};
use bellwether_core::{Rejection, Report};
use bytes::Bytes;

use crate::handoff::handoff_to_wire;
use crate::job::{job_to_wire, text, texts, trace_to_wire};
use crate::key::{key_from_wire, key_to_wire};
use crate::malformed::{Malformed, at_most, cut, label_set, name, optional_name, span};
use crate::rejection::code;
use crate::{Mirror, v1};

/// Attempts that one worker may name as held.
const HELD_MAX: usize = 2 * WORKER_SLOTS_MAX as usize;

pub fn worker_spec_to_wire(spec: &WorkerSpec) -> v1::WorkerSpec {
    v1::WorkerSpec {
        id: spec.id.to_string(),
        endpoint: spec.endpoint.clone(),
        zone: text(spec.zone.as_ref()),
        class: spec.class.to_string(),
        roles: texts(&spec.roles),
        capabilities: texts(&spec.capabilities),
        models: texts(&spec.models),
        loads_models: spec.loads_models,
        cpu: spec.resources.cpu,
        memory: spec.resources.memory,
        slots: spec.slots,
        public_key: spec.public_key.map_or_else(Default::default, key_to_wire),
        instance: spec.instance,
        types: texts(&spec.types),
        speed_permille: spec.speed_permille,
    }
}

pub fn worker_spec_from_wire(wire: v1::WorkerSpec) -> Result<WorkerSpec, Malformed> {
    if wire.endpoint.len() > TEXT_BYTES_MAX {
        let given = format!("{} bytes long", wire.endpoint.len());
        return Err(Malformed::not_allowed("endpoint", given, "at most 4096 are allowed"));
    }
    let public_key = if wire.public_key.is_empty() {
        None
    } else {
        Some(key_from_wire("public_key", &wire.public_key)?)
    };
    Ok(WorkerSpec {
        id: name("id", &wire.id)?,
        endpoint: wire.endpoint,
        zone: optional_name("zone", &wire.zone)?,
        class: optional_name("class", &wire.class)?.unwrap_or_else(|| Name::fixed("default")),
        types: label_set("types", &wire.types, TYPES_MAX)?,
        roles: label_set("roles", &wire.roles, LABELS_MAX)?,
        capabilities: label_set("capabilities", &wire.capabilities, LABELS_MAX)?,
        models: label_set("models", &wire.models, LABELS_MAX)?,
        loads_models: wire.loads_models,
        resources: Resources { cpu: wire.cpu, memory: wire.memory },
        slots: wire.slots,
        public_key,
        instance: wire.instance,
        speed_permille: wire.speed_permille.min(SPEED_PERMILLE_MAX),
    })
}

pub fn register_from_wire(wire: v1::Register) -> Result<(WorkerSpec, Vec<HeldAttempt>), Malformed> {
    let spec = wire.spec.ok_or_else(|| Malformed::missing("spec"))?;
    at_most("held", wire.held.len(), HELD_MAX)?;
    let spec = worker_spec_from_wire(spec).map_err(|error| error.within("spec"))?;
    Ok((spec, wire.held.iter().map(attempt_from_wire).collect()))
}

pub fn attempt_from_wire(wire: &v1::Attempt) -> HeldAttempt {
    HeldAttempt { job: JobNo(wire.job), token: Token(wire.token) }
}

pub fn attempt_to_wire(attempt: HeldAttempt) -> v1::Attempt {
    v1::Attempt { job: attempt.job.0, token: attempt.token.0 }
}

pub fn heartbeat_to_wire(beat: Heartbeat) -> v1::Heartbeat {
    let Heartbeat { cpu_permille, memory_permille, load_permille, queue_depth, overloaded } = beat;
    v1::Heartbeat { cpu_permille, memory_permille, load_permille, queue_depth, overloaded }
}

pub fn heartbeat_from_wire(wire: v1::Heartbeat) -> Heartbeat {
    let v1::Heartbeat { cpu_permille, memory_permille, load_permille, queue_depth, overloaded } =
        wire;
    Heartbeat { cpu_permille, memory_permille, load_permille, queue_depth, overloaded }
}

pub fn report_from_wire(wire: v1::Report) -> Result<(HeldAttempt, Report), Malformed> {
    use v1::report::Report as Wire;
    let attempt = HeldAttempt { job: JobNo(wire.job), token: Token(wire.token) };
    let report = match wire.report.ok_or_else(|| Malformed::missing("report"))? {
        Wire::Acknowledge(v1::Acknowledge {}) => Report::Acknowledge,
        Wire::Claim(v1::Claim {}) => Report::Claim,
        Wire::Progress(v1::Progress { permille, note }) => {
            Report::Progress { permille: permille.min(1_000), note: cut(note) }
        }
        Wire::Complete(v1::Complete { result }) => Report::Complete { result },
        Wire::Fail(v1::Fail { cause, error, retry_after }) => Report::Fail {
            cause: FailureCause::required("fail.cause", cause)?,
            error: cut(error),
            retry_after: retry_after.map(|micros| span("fail.retry_after", micros)).transpose()?,
        },
        // Who signed it, and for whom, is the edge's to say.
        Wire::HandOff(_) => {
            let wanted = "it must be verified where it arrives";
            return Err(Malformed::not_allowed("report", "a handoff", wanted));
        }
    };
    Ok((attempt, report))
}

pub fn report_to_wire(attempt: HeldAttempt, report: Report) -> v1::Report {
    use v1::report::Report as Wire;
    let report = match report {
        Report::Acknowledge => Wire::Acknowledge(v1::Acknowledge {}),
        Report::Claim => Wire::Claim(v1::Claim {}),
        Report::Progress { permille, note } => Wire::Progress(v1::Progress { permille, note }),
        Report::Complete { result } => Wire::Complete(v1::Complete { result }),
        Report::Fail { cause, error, retry_after } => Wire::Fail(v1::Fail {
            cause: cause.to_wire(),
            error,
            retry_after: retry_after.map(|span| span.0),
        }),
        Report::HandOff(handoff) => Wire::HandOff(v1::HandOff {
            job_id: handoff.job.to_string(),
            receiver: handoff.receiver.to_string(),
            payload_hash: Bytes::copy_from_slice(&handoff.payload_hash),
            signature: crate::signing::handoff::signature_text(&handoff),
        }),
    };
    v1::Report { job: attempt.job.0, token: attempt.token.0, report: Some(report) }
}

pub fn model_loaded_from_wire(wire: &v1::ModelLoaded) -> Result<(Name, Micros), Malformed> {
    Ok((name("model", &wire.model)?, span("took", wire.took)?))
}

/// `run` is the name of the run that the job belongs to, `trace` what the attempt belongs to.
pub fn offer_to_wire(offer: &Offer, run: Option<&RunId>, trace: Option<TraceParent>) -> v1::Offer {
    let spec = v1::JobSpec { trace_parent: Bytes::new(), ..job_to_wire(&offer.spec) };
    v1::Offer {
        job: offer.attempt.job.0,
        token: offer.attempt.token.0,
        number: offer.number,
        spec: Some(spec),
        idempotency_token: idempotency_token(offer),
        load_model: text(offer.load_model.as_ref()),
        run_id: text(run),
        offered_at: offer.offered_at.0,
        trace_parent: trace_to_wire(trace),
        handoffs: offer.handoffs.iter().map(handoff_to_wire).collect(),
    }
}

/// The same for every attempt of a job. The job's number is part of it, because an id may be used
/// again once its job is forgotten.
fn idempotency_token(offer: &Offer) -> String {
    let id = &offer.spec.id;
    match &offer.spec.idempotency_key {
        Some(key) => format!("{id}/{key}"),
        None => format!("{id}/{}", offer.attempt.job),
    }
}

pub fn revoke_to_wire(attempt: HeldAttempt, reason: RevokeReason) -> v1::Revoke {
    v1::Revoke { job: attempt.job.0, token: attempt.token.0, reason: reason.to_wire() }
}

/// `report` is the number of the report on its stream.
pub fn refusal_to_wire(report: u64, attempt: HeldAttempt, rejection: &Rejection) -> v1::Refusal {
    v1::Refusal {
        report,
        job: attempt.job.0,
        token: attempt.token.0,
        code: code(rejection).to_owned(),
        message: rejection.to_string(),
    }
}
