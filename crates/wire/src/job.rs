//! A job's description between the schema and the core: the one place where names and bounds of a
//! job that came as protobuf are checked, whether it was submitted or recorded.

use std::sync::Arc;

use bellwether_core::model::limits::{DEPENDENCIES_MAX, LABELS_MAX, RUN_JOBS_MAX};
use bellwether_core::model::{
    AcceptedJob, Aside, Escalation, Extras, Guarantee, JobId, JobNo, JobSpec, Micros, Name,
    OnFailure, Priority, Requirements, Resources, RunId, Submission, Target, Timestamp,
    TraceParent,
};
use bytes::Bytes;

use crate::concurrency::{first_plain, key_to_wire, keys_from_wire};
use crate::malformed::{
    Malformed, Problem, at_most, chosen_id, label_set, name, names, optional_name, span,
};
use crate::{Mirror, v1};

/// What an idempotency key begins with that nobody chose: it lets the library send a job again when an
/// answer got lost, and is remembered for no longer than that takes.
pub const AUTOMATIC_KEY: &str = "auto-";

/// What was submitted. `generate` gives an id to each job that has none, and to a run of several
/// jobs that has none.
pub fn submission_from_wire(
    wire: &v1::Submission,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Submission, Malformed> {
    if wire.jobs.is_empty() {
        return Err(Malformed::missing("jobs"));
    }
    at_most("jobs", wire.jobs.len(), RUN_JOBS_MAX)?;
    let run = match optional_name("run_id", &wire.run_id)? {
        None if wire.jobs.len() > 1 => Some(RunId::from(generate().as_name().clone())),
        given => given,
    };
    let mut read = |job: &v1::JobSpec| {
        let id = chosen_id("id", optional_name("id", &job.id)?)?.unwrap_or_else(&mut *generate);
        span("timeout", job.timeout.unwrap_or_default())?;
        span("delay", job.delay)?;
        span("not_before", job.not_before)?;
        // A copy: a job that waits for long must not keep the whole message in memory that it
        // came with.
        job_from_wire(job, id, Bytes::copy_from_slice(&job.payload))
    };
    let jobs = wire.jobs.iter().enumerate();
    let jobs = jobs
        .map(|(index, job)| read(job).map_err(|e| e.within(format_args!("jobs[{index}]"))))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Submission { extends: wire.extends, ..Submission::of(run, jobs) })
}

pub fn submission_to_wire(submission: &Submission) -> v1::Submission {
    v1::Submission {
        run_id: text(submission.run.as_ref()),
        jobs: submission.jobs.iter().map(job_to_wire).collect(),
        extends: submission.extends,
    }
}

/// The description of a job that was taken, as it is shown.
pub fn taken_job_from_wire(wire: &v1::JobSpec) -> Result<JobSpec, Malformed> {
    let mut spec = job_from_wire(wire, name("id", &wire.id)?, wire.payload.clone())?;
    // Zeros were left out when these had no other meaning.
    spec.timeout = spec.timeout.or(Some(Micros::ZERO));
    spec.retry = spec.retry.or(Some(0));
    Ok(spec)
}

/// A job as the journal records it.
pub fn accepted_from_wire(wire: &v1::JobSpec) -> Result<AcceptedJob, Malformed> {
    at_most("waits_for", wire.waits_for.len(), DEPENDENCIES_MAX)?;
    Ok(AcceptedJob {
        spec: Arc::new(taken_job_from_wire(wire)?),
        dependencies: wire.waits_for.iter().copied().map(JobNo).collect(),
        predicted: Micros(wire.predicted),
        rank: wire.rank,
        doomed: wire.doomed,
    })
}

pub fn accepted_to_wire(job: &AcceptedJob) -> v1::JobSpec {
    v1::JobSpec {
        waits_for: job.dependencies.iter().map(|no| no.0).collect(),
        predicted: job.predicted.0,
        rank: job.rank,
        doomed: job.doomed,
        ..job_to_wire(&job.spec)
    }
}

/// All that describes a job.
pub fn job_to_wire(spec: &JobSpec) -> v1::JobSpec {
    let extras = spec.extras();
    let (first_key, other_keys) = first_plain(spec.keys());
    v1::JobSpec {
        id: spec.id.to_string(),
        node: text(spec.node.as_ref()),
        requirements: Some(requirements_to_wire(&spec.requirements)),
        priority: spec.priority.to_wire(),
        guarantee: spec.guarantee.to_wire(),
        on_failure: spec.on_failure.to_wire(),
        payload: spec.payload.clone(),
        dependencies: texts(&spec.dependencies),
        timeout: spec.timeout.map(|timeout| timeout.0),
        retry: spec.retry,
        sender: text(spec.sender.as_ref()),
        idempotency_key: text(spec.idempotency_key.as_ref()),
        tags: texts(&spec.tags),
        delay: extras.delay.0,
        not_before: extras.not_before.0,
        escalation: extras.escalation.as_ref().map(escalation_to_wire),
        input_bytes: extras.input_bytes,
        trace_parent: trace_to_wire(extras.trace_parent),
        concurrency_key: text(first_key),
        concurrency: other_keys.iter().map(key_to_wire).collect(),
        ..Default::default()
    }
}

fn job_from_wire(wire: &v1::JobSpec, id: JobId, payload: Bytes) -> Result<JobSpec, Malformed> {
    let requirements = wire.requirements.as_ref().ok_or_else(|| Malformed::missing("type"))?;
    let extras = Extras {
        delay: Micros(wire.delay),
        not_before: Timestamp(wire.not_before),
        escalation: wire.escalation.as_ref().map(escalation_from_wire).transpose()?,
        // As much as the payload is what no hint means, and that was once filled in.
        input_bytes: wire.input_bytes.filter(|bytes| *bytes != payload.len() as u64),
        trace_parent: trace_from_wire(&wire.trace_parent)?,
    };
    Ok(JobSpec {
        id,
        node: optional_name("node", &wire.node)?,
        requirements: Arc::new(requirements_from_wire(requirements)?),
        priority: Priority::optional("priority", wire.priority)?.unwrap_or_default(),
        guarantee: Guarantee::optional("guarantee", wire.guarantee)?.unwrap_or_default(),
        on_failure: OnFailure::optional("on_failure", wire.on_failure)?.unwrap_or_default(),
        payload,
        dependencies: names("dependencies", &wire.dependencies, DEPENDENCIES_MAX)?.into(),
        timeout: wire.timeout.map(Micros),
        retry: wire.retry,
        sender: optional_name("sender", &wire.sender)?,
        idempotency_key: optional_name("idempotency_key", &wire.idempotency_key)?,
        tags: names("tags", &wire.tags, LABELS_MAX)?.into(),
        aside: Aside::boxed(keys_from_wire(wire)?, extras),
    })
}

pub fn trace_to_wire(trace: Option<TraceParent>) -> Bytes {
    trace.map_or_else(Bytes::new, |trace| Bytes::copy_from_slice(&trace.to_bytes()))
}

fn trace_from_wire(bytes: &[u8]) -> Result<Option<TraceParent>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    const WANTED: &str = "it must be 25: the trace's id, the span's, neither all zero, and flags";
    let given = || format!("{} bytes long", bytes.len());
    let read = TraceParent::from_bytes(bytes);
    read.map(Some).map_err(|_| Malformed::not_allowed("trace_parent", given(), WANTED))
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

fn target(role: &str, receiver: &str) -> Result<Target, Malformed> {
    match (optional_name("role", role)?, optional_name("receiver", receiver)?) {
        (None, None) => Ok(Target::Any),
        (Some(role), None) => Ok(Target::Role(role)),
        (None, Some(worker)) => Ok(Target::Receiver(worker)),
        (Some(_), Some(_)) => Err(Malformed::new("receiver", Problem::Excludes { other: "role" })),
    }
}

/// What a job was escalated to.
pub fn escalated_to_wire(priority: Priority, role: Option<&Name>) -> v1::Escalation {
    v1::Escalation { priority: priority.to_wire(), role: text(role) }
}

fn escalation_to_wire(escalation: &Escalation) -> v1::Escalation {
    v1::Escalation {
        priority: escalation.priority.map_or(0, Mirror::to_wire),
        role: text(escalation.role.as_ref()),
    }
}

fn escalation_from_wire(wire: &v1::Escalation) -> Result<Escalation, Malformed> {
    let read = || {
        Ok(Escalation {
            priority: Priority::optional("priority", wire.priority)?,
            role: optional_name("role", &wire.role)?,
        })
    };
    read().map_err(|error: Malformed| error.within("escalation"))
}

pub(crate) fn text(name: Option<&impl ToString>) -> String {
    name.map_or_else(String::new, ToString::to_string)
}

pub fn texts(names: &[impl ToString]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

impl v1::JobSpec {
    /// From now on it has this priority, and this role if there is one.
    pub fn escalate(&mut self, to: &v1::Escalation) {
        if to.priority != 0 {
            self.priority = to.priority;
        }
        if !to.role.is_empty() {
            let requirements = self.requirements.get_or_insert_default();
            requirements.role.clone_from(&to.role);
            requirements.receiver.clear();
        }
    }

    /// A job with every default; it gets an id if this is empty.
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> v1::JobSpec {
        let requirements = v1::Requirements { r#type: kind.into(), ..Default::default() };
        v1::JobSpec { id: id.into(), requirements: Some(requirements), ..Default::default() }
    }

    /// What it is of, or nothing if that is not said.
    pub fn kind(&self) -> &str {
        self.requirements.as_ref().map_or("", |requirements| &requirements.r#type)
    }
}

impl v1::Offer {
    /// The id of the job, or nothing if that is not said.
    pub fn job_id(&self) -> &str {
        self.spec.as_ref().map_or("", |spec| &spec.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated() -> impl FnMut() -> JobId {
        let mut count = 0;
        move || {
            count += 1;
            JobId::fixed(&format!("generated-{count}"))
        }
    }

    fn refused(job: v1::JobSpec) -> String {
        let submission =
            v1::Submission { run_id: String::new(), jobs: vec![job], ..Default::default() };
        submission_from_wire(&submission, &mut generated()).unwrap_err().to_string()
    }

    fn job() -> v1::JobSpec {
        v1::JobSpec::new("a", "t")
    }

    #[test]
    fn what_was_read_is_written_the_same() {
        let mut given = JobSpec::new(JobId::fixed("a"), Name::fixed("t"));
        given.requirements_mut().target = Target::Role(Name::fixed("r"));
        given.requirements_mut().capabilities = Box::new([Name::fixed("avx"), Name::fixed("gpu")]);
        given.dependencies = Box::new([JobId::fixed("b")]);
        given.timeout = Some(Micros(5));
        given.retry = Some(0);
        given.priority = Priority::Critical;
        given.guarantee = Guarantee::ExactlyOnce;
        given.on_failure = OnFailure::Run;
        let trace = TraceParent { trace_id: [7; 16], span_id: [8; 8], flags: 1 };
        given.extras_mut().trace_parent = Some(trace);
        let given = Submission::one(given);
        assert_eq!(submission_from_wire(&submission_to_wire(&given), &mut generated()), Ok(given));
    }

    #[test]
    fn missing_ids_are_generated() {
        let jobs = vec![v1::JobSpec { id: String::new(), ..job() }, job()];
        let read = submission_from_wire(
            &v1::Submission { run_id: String::new(), jobs, ..Default::default() },
            &mut generated(),
        )
        .unwrap();
        assert_eq!(read.run.unwrap().as_str(), "generated-1");
        assert_eq!(read.jobs[0].id.as_str(), "generated-2");
    }

    #[test]
    fn errors_name_the_field() {
        let of = |requirements| v1::JobSpec { requirements: Some(requirements), ..job() };
        let cases = [
            (v1::JobSpec::new("a", ""), "jobs[0].type: is missing"),
            (v1::JobSpec::default(), "jobs[0].type: is missing"),
            (
                of(v1::Requirements {
                    r#type: "t".into(),
                    role: "r".into(),
                    receiver: "w".into(),
                    ..Default::default()
                }),
                "jobs[0].receiver: excludes role; give one of them",
            ),
            (
                v1::JobSpec { tags: vec!["x".into(), String::new()], ..job() },
                "jobs[0].tags[1]: a name is empty",
            ),
            (
                v1::JobSpec { tags: vec!["x".into(); 65], ..job() },
                "jobs[0].tags: has 65 entries; at most 64 are allowed",
            ),
            (
                v1::JobSpec { priority: 9, ..job() },
                "jobs[0].priority: is 9; it must be a priority from 1 to 4",
            ),
            (
                v1::JobSpec { sender: "a\nb".into(), ..job() },
                "jobs[0].sender: the name \"a\\nb\" has a control character",
            ),
        ];
        for (job, message) in cases {
            assert_eq!(refused(job), message);
        }
        let long = refused(v1::JobSpec { id: "x".repeat(257), ..job() });
        assert!(long.starts_with("jobs[0].id: the name") && long.contains("257 bytes"), "{long}");
        let delay = refused(v1::JobSpec { delay: u64::MAX, ..job() });
        assert!(delay.contains("at most 100 years"), "{delay}");
    }
}
