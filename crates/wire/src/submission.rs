//! Jobs as clients hand them in.

use bellwether_core::model::limits::{DEPENDENCIES_MAX, LABELS_MAX, RUN_JOBS_MAX};
use bellwether_core::model::{
    Guarantee, JobId, NewJob, OnFailure, Priority, Requirements, Resources, Submission, Target,
    Timestamp, TraceParent,
};

use bytes::Bytes;

use crate::job::{escalation_from_wire, escalation_to_wire, target, text, texts};
use crate::malformed::{Malformed, at_most, label_set, name, names, optional_name, span};
use crate::{Mirror, v1};

/// `generate` gives an id to each job that has none, and to a run of several jobs that has none.
pub fn submission_from_wire(
    wire: v1::Submission,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Submission, Malformed> {
    if wire.jobs.is_empty() {
        return Err(Malformed::missing("jobs"));
    }
    at_most("jobs", wire.jobs.len(), RUN_JOBS_MAX)?;
    let run = match optional_name("run_id", &wire.run_id)? {
        None if wire.jobs.len() > 1 => Some(generate()),
        given => given,
    };
    let jobs = wire
        .jobs
        .into_iter()
        .enumerate()
        .map(|(index, job)| {
            job_from_wire(job, generate).map_err(|e| e.within(format_args!("jobs[{index}]")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Submission { run, jobs, settled: Vec::new() })
}

pub fn submission_to_wire(submission: &Submission) -> v1::Submission {
    v1::Submission {
        run_id: text(submission.run.as_ref()),
        jobs: submission.jobs.iter().map(job_to_wire).collect(),
    }
}

/// `generate` gives the job an id if it has none.
pub fn job_from_wire(
    wire: v1::NewJob,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<NewJob, Malformed> {
    Ok(NewJob {
        id: optional_name("id", &wire.id)?.unwrap_or_else(generate),
        node: optional_name("node", &wire.node)?,
        requirements: Requirements {
            kind: name("type", &wire.r#type)?,
            target: target(&wire.role, &wire.receiver)?,
            resources: Resources { cpu: wire.cpu, memory: wire.memory },
            capabilities: label_set("capabilities", &wire.capabilities, LABELS_MAX)?,
            model: optional_name("model", &wire.model)?,
        },
        priority: Priority::optional("priority", wire.priority)?.unwrap_or_default(),
        // A copy: a job that waits for long must not keep the whole message in memory that it came
        // with.
        payload: Bytes::copy_from_slice(&wire.payload),
        dependencies: names("dependencies", &wire.dependencies, DEPENDENCIES_MAX)?,
        timeout: wire.timeout.map(|micros| span("timeout", micros)).transpose()?,
        retry: wire.retry,
        sender: optional_name("sender", &wire.sender)?,
        guarantee: Guarantee::optional("guarantee", wire.guarantee)?.unwrap_or_default(),
        idempotency_key: optional_name("idempotency_key", &wire.idempotency_key)?,
        delay: span("delay", wire.delay)?,
        not_before: Timestamp(span("not_before", wire.not_before)?.0),
        tags: names("tags", &wire.tags, LABELS_MAX)?,
        on_failure: OnFailure::optional("on_failure", wire.on_failure)?.unwrap_or_default(),
        escalation: wire.escalation.as_ref().map(escalation_from_wire).transpose()?,
        input_bytes: wire.input_bytes,
        trace_parent: trace_parent(&wire.trace_parent)?,
    })
}

fn trace_parent(text: &str) -> Result<Option<TraceParent>, Malformed> {
    const WANTED: &str = "it must be as 00-<32 hex digits>-<16 hex digits>-<2 hex digits>";
    if text.is_empty() {
        return Ok(None);
    }
    let read = TraceParent::parse(text);
    read.map(Some).map_err(|_| Malformed::not_allowed("trace_parent", format!("{text:?}"), WANTED))
}

pub fn job_to_wire(job: &NewJob) -> v1::NewJob {
    let (role, receiver) = match &job.requirements.target {
        Target::Any => (String::new(), String::new()),
        Target::Role(role) => (role.to_string(), String::new()),
        Target::Receiver(worker) => (String::new(), worker.to_string()),
    };
    v1::NewJob {
        id: job.id.to_string(),
        node: text(job.node.as_ref()),
        r#type: job.requirements.kind.to_string(),
        priority: job.priority.to_wire(),
        payload: job.payload.clone(),
        dependencies: texts(&job.dependencies),
        timeout: job.timeout.map(|timeout| timeout.0),
        retry: job.retry,
        sender: text(job.sender.as_ref()),
        receiver,
        role,
        cpu: job.requirements.resources.cpu,
        memory: job.requirements.resources.memory,
        capabilities: texts(&job.requirements.capabilities),
        model: text(job.requirements.model.as_ref()),
        guarantee: job.guarantee.to_wire(),
        idempotency_key: text(job.idempotency_key.as_ref()),
        delay: job.delay.0,
        not_before: job.not_before.0,
        tags: texts(&job.tags),
        on_failure: job.on_failure.to_wire(),
        escalation: job.escalation.as_ref().map(escalation_to_wire),
        input_bytes: job.input_bytes,
        trace_parent: job.trace_parent.map_or_else(String::new, |trace| trace.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::Name;

    use super::*;

    fn generated() -> impl FnMut() -> JobId {
        let mut count = 0;
        move || {
            count += 1;
            Name::fixed(&format!("generated-{count}"))
        }
    }

    fn refused(job: v1::NewJob) -> String {
        let submission = v1::Submission { run_id: String::new(), jobs: vec![job] };
        submission_from_wire(submission, &mut generated()).unwrap_err().to_string()
    }

    fn job() -> v1::NewJob {
        v1::NewJob { id: "a".into(), r#type: "t".into(), ..Default::default() }
    }

    #[test]
    fn what_was_read_is_written_the_same() {
        let mut read = NewJob::new(Name::fixed("a"), Name::fixed("t"));
        read.requirements.target = Target::Role(Name::fixed("r"));
        read.requirements.capabilities = Box::new([Name::fixed("avx"), Name::fixed("gpu")]);
        read.dependencies = vec![Name::fixed("b")];
        read.timeout = Some(bellwether_core::model::Micros(5));
        read.retry = Some(0);
        read.priority = Priority::Critical;
        read.guarantee = Guarantee::ExactlyOnce;
        read.on_failure = OnFailure::Run;
        let trace = TraceParent { trace_id: [7; 16], span_id: [8; 8], flags: 1 };
        read.trace_parent = Some(trace);
        assert_eq!(job_from_wire(job_to_wire(&read), &mut generated()), Ok(read));
    }

    #[test]
    fn missing_ids_are_generated() {
        let jobs = vec![v1::NewJob { id: String::new(), ..job() }, job()];
        let read =
            submission_from_wire(v1::Submission { run_id: String::new(), jobs }, &mut generated())
                .unwrap();
        assert_eq!(read.run.unwrap().as_str(), "generated-1");
        assert_eq!(read.jobs[0].id.as_str(), "generated-2");
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            (v1::NewJob { r#type: String::new(), ..job() }, "jobs[0].type: is missing"),
            (
                v1::NewJob { role: "r".into(), receiver: "w".into(), ..job() },
                "jobs[0].receiver: excludes role; give one of them",
            ),
            (
                v1::NewJob { tags: vec!["x".into(), String::new()], ..job() },
                "jobs[0].tags[1]: a name is empty",
            ),
            (
                v1::NewJob { tags: vec!["x".into(); 65], ..job() },
                "jobs[0].tags: has 65 entries; at most 64 are allowed",
            ),
            (
                v1::NewJob { priority: 9, ..job() },
                "jobs[0].priority: is 9; it must be a priority from 1 to 4",
            ),
            (
                v1::NewJob { sender: "a\nb".into(), ..job() },
                "jobs[0].sender: the name \"a\\nb\" has a control character",
            ),
        ];
        for (job, message) in cases {
            assert_eq!(refused(job), message);
        }
        let long = refused(v1::NewJob { id: "x".repeat(257), ..job() });
        assert!(long.starts_with("jobs[0].id: the name") && long.contains("257 bytes"), "{long}");
        let delay = refused(v1::NewJob { delay: u64::MAX, ..job() });
        assert!(delay.contains("at most 100 years"), "{delay}");
    }
}
