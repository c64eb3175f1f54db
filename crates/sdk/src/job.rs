//! Jobs to submit.

use std::time::Duration;

use bellwether_wire::TraceParent;
use bellwether_wire::job::trace_to_wire;
use bellwether_wire::v1;
use bytes::Bytes;

use crate::random::automatic_key;

/// A job to submit. Only the type is needed; the scheduler's defaults stand for the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob(v1::JobSpec);

impl NewJob {
    pub fn new(kind: impl Into<String>) -> NewJob {
        NewJob(v1::JobSpec::new("", kind))
    }

    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> NewJob {
        self.0.id = id.into();
        self
    }

    /// Its name in the run.
    #[must_use]
    pub fn node(mut self, node: impl Into<String>) -> NewJob {
        self.0.node = node.into();
        self
    }

    #[must_use]
    pub fn payload(mut self, payload: impl Into<Bytes>) -> NewJob {
        self.0.payload = payload.into();
        self
    }

    #[must_use]
    pub fn priority(mut self, priority: v1::Priority) -> NewJob {
        self.0.priority = priority.into();
        self
    }

    /// It starts only once this job has completed.
    #[must_use]
    pub fn after(mut self, id: impl Into<String>) -> NewJob {
        self.0.dependencies.push(id.into());
        self
    }

    #[must_use]
    pub fn on_failure(mut self, choice: v1::OnFailure) -> NewJob {
        self.0.on_failure = choice.into();
        self
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> NewJob {
        self.0.timeout = Some(micros(timeout));
        self
    }

    #[must_use]
    pub fn retry(mut self, times: u32) -> NewJob {
        self.0.retry = Some(times);
        self
    }

    #[must_use]
    pub fn guarantee(mut self, guarantee: v1::Guarantee) -> NewJob {
        self.0.guarantee = guarantee.into();
        self
    }

    /// Submitting it twice with the same key makes one job.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> NewJob {
        self.0.idempotency_key = key.into();
        self
    }

    /// What it shares with other jobs, as a tenant or a machine: no more of them run at a time than the limit
    /// of the key allows. In it, `{type}`, `{sender}`, `{tags}` and `{payload.FIELD}` stand for what the job
    /// says there.
    #[must_use]
    pub fn concurrency_key(mut self, key: impl Into<String>) -> NewJob {
        self.0.concurrency_key = key.into();
        self
    }

    /// Another key, with how the job uses it.
    #[must_use]
    pub fn concurrency(mut self, key: v1::ConcurrencyKey) -> NewJob {
        self.0.concurrency.push(key);
        self
    }

    #[must_use]
    pub fn sender(mut self, sender: impl Into<String>) -> NewJob {
        self.0.sender = sender.into();
        self
    }

    /// Only this worker may run it.
    #[must_use]
    pub fn receiver(mut self, worker: impl Into<String>) -> NewJob {
        self.requirements().receiver = worker.into();
        self
    }

    /// Any worker with this role may run it.
    #[must_use]
    pub fn role(mut self, role: impl Into<String>) -> NewJob {
        self.requirements().role = role.into();
        self
    }

    #[must_use]
    pub fn capability(mut self, capability: impl Into<String>) -> NewJob {
        self.requirements().capabilities.push(capability.into());
        self
    }

    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> NewJob {
        self.requirements().model = model.into();
        self
    }

    #[must_use]
    pub fn millicores(mut self, cpu: u32) -> NewJob {
        self.requirements().cpu = cpu;
        self
    }

    #[must_use]
    pub fn memory_bytes(mut self, memory: u64) -> NewJob {
        self.requirements().memory = memory;
        self
    }

    #[must_use]
    pub fn delay(mut self, delay: Duration) -> NewJob {
        self.0.delay = micros(delay);
        self
    }

    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> NewJob {
        self.0.tags.push(tag.into());
        self
    }

    /// W3C's trace context that the job belongs to, as `00-<trace id>-<span id>-<flags>`. One that
    /// is none is left out, as W3C wants it.
    #[must_use]
    pub fn trace_parent(mut self, trace_parent: &str) -> NewJob {
        self.0.trace_parent = trace_to_wire(TraceParent::parse(trace_parent).ok());
        self
    }

    /// The message behind it, for fields that have no method here.
    pub fn wire(&mut self) -> &mut v1::JobSpec {
        &mut self.0
    }

    fn requirements(&mut self) -> &mut v1::Requirements {
        self.0.requirements.get_or_insert_default()
    }

    /// A key makes it safe to send the job again when the answer got lost.
    pub(crate) fn keyed(mut self) -> NewJob {
        if self.0.idempotency_key.is_empty() {
            self.0.idempotency_key = automatic_key();
        }
        self
    }
}

impl From<v1::JobSpec> for NewJob {
    fn from(job: v1::JobSpec) -> NewJob {
        NewJob(job)
    }
}

impl From<NewJob> for v1::JobSpec {
    fn from(job: NewJob) -> v1::JobSpec {
        job.0
    }
}

impl From<NewJob> for v1::Submission {
    fn from(job: NewJob) -> v1::Submission {
        v1::Submission { run_id: String::new(), jobs: vec![job.0], ..Default::default() }
    }
}

/// Jobs that are taken together or not at all, with dependencies among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Generated if absent.
    pub id: Option<String>,
    pub jobs: Vec<NewJob>,
}

impl Run {
    pub fn named(id: impl Into<String>) -> Run {
        Run { id: Some(id.into()), jobs: Vec::new() }
    }

    #[must_use]
    pub fn job(mut self, job: NewJob) -> Run {
        self.jobs.push(job);
        self
    }

    pub(crate) fn keyed(mut self) -> Run {
        self.jobs = self.jobs.into_iter().map(NewJob::keyed).collect();
        self
    }
}

impl From<Run> for v1::Submission {
    fn from(run: Run) -> v1::Submission {
        let jobs = run.jobs.into_iter().map(v1::JobSpec::from).collect();
        v1::Submission { run_id: run.id.unwrap_or_default(), jobs, ..Default::default() }
    }
}

pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
