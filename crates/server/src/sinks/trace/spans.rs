//! What is seen, as spans: the job from its submission to its end; below it each decision, with the
//! time that it was waited for, and each attempt.

use std::sync::Arc;

use bellwether_core::model::{JobStatus, Timestamp};
use bellwether_core::{AttemptEnd, Decision};
use bellwether_wire::decision::reason_kind;

use super::context::{JobTrace, Tracing};
use super::span::{Span, Value};
use crate::projections::telemetry::buffer::Buffer;
use crate::projections::telemetry::live::{LiveJob, LiveOffer};
use crate::projections::telemetry::sighting::Sighting;

#[derive(Debug)]
pub(crate) struct Spans {
    tracing: Tracing,
    buffer: Arc<Buffer<Span>>,
    fresh: Vec<Span>,
}

impl Spans {
    pub(super) fn new(tracing: Tracing, buffer: Arc<Buffer<Span>>) -> Spans {
        Spans { tracing, buffer, fresh: Vec::new() }
    }

    pub(crate) fn see(&mut self, sighting: &Sighting<'_>) {
        let span = match sighting {
            Sighting::Decided { job, offer, decision, .. } => {
                self.trace(job).map(|trace| decided(&trace, job, offer, decision))
            }
            Sighting::OfferEnded { job, offer, end, at, .. } => {
                self.trace(job).map(|trace| attempted(&trace, job, offer, *end, *at))
            }
            Sighting::Ended { job, how, at } => {
                self.trace(job).map(|trace| ended(&trace, job, *how, *at))
            }
            Sighting::Submitted { .. } | Sighting::Started { .. } | Sighting::Other { .. } => None,
        };
        self.fresh.extend(span);
    }

    /// Hands over what was made.
    pub(crate) fn flush(&mut self) {
        if !self.fresh.is_empty() {
            self.buffer.push(&mut self.fresh);
        }
    }

    fn trace(&self, job: &LiveJob) -> Option<JobTrace> {
        self.tracing.of_job(job.no, &job.spec)
    }
}

fn decided(trace: &JobTrace, job: &LiveJob, offer: &LiveOffer, decision: &Decision) -> Span {
    let mut attributes = of_offer(job, offer);
    attributes.extend([
        ("bellwether.strategy", Value::Text(decision.strategy.as_str())),
        ("bellwether.reason", Value::Text(reason_kind(decision.reason).as_str())),
        ("bellwether.score", Value::Share(decision.score.0 as f64 / 1e6)),
        ("bellwether.predicted_seconds", seconds(decision.predicted_duration.0)),
        ("bellwether.confidence_percent", Value::Number(i64::from(decision.confidence_percent))),
    ]);
    Span {
        trace_id: trace.trace_id,
        span_id: trace.decision_span(offer.token),
        parent: Some(trace.job_span(job.no)),
        name: if offer.hedge { "hedge" } else { "decide" },
        start: job.queued_at.min(offer.offered_at),
        end: offer.offered_at,
        attributes,
        started: None,
        error: None,
    }
}

fn attempted(
    trace: &JobTrace,
    job: &LiveJob,
    offer: &LiveOffer,
    end: AttemptEnd<'_>,
    at: Timestamp,
) -> Span {
    let mut attributes = of_offer(job, offer);
    attributes.push(("bellwether.outcome", Value::Text(end.as_str())));
    if !end.cause().is_empty() {
        attributes.push(("bellwether.cause", Value::Text(end.cause())));
    }
    Span {
        trace_id: trace.trace_id,
        span_id: trace.attempt_span(offer.token),
        parent: Some(trace.job_span(job.no)),
        name: "attempt",
        start: offer.offered_at,
        end: at,
        attributes,
        started: offer.started_at,
        error: match end {
            AttemptEnd::Failed { error, .. } => Some((*error).to_owned()),
            AttemptEnd::Completed { .. } | AttemptEnd::Revoked { .. } => None,
        },
    }
}

fn ended(trace: &JobTrace, job: &LiveJob, how: JobStatus, at: Timestamp) -> Span {
    let mut attributes = of_job(job);
    attributes.push(("bellwether.outcome", Value::Text(how.as_str())));
    attributes.push(("bellwether.attempts", Value::Number(i64::from(job.attempts))));
    Span {
        trace_id: trace.trace_id,
        span_id: trace.job_span(job.no),
        parent: trace.parent,
        name: "job",
        start: job.submitted_at,
        end: at,
        attributes,
        started: None,
        error: matches!(how, JobStatus::Failed | JobStatus::DeadLettered)
            .then(|| how.as_str().to_owned()),
    }
}

fn of_job(job: &LiveJob) -> Vec<(&'static str, Value)> {
    let mut attributes = vec![
        ("bellwether.job.id", Value::Name(job.spec.id.as_name().clone())),
        ("bellwether.job.type", Value::Name(job.spec.kind().clone())),
        ("bellwether.job.priority", Value::Text(job.spec.priority.as_str())),
    ];
    if let Some(run) = &job.run {
        attributes.push(("bellwether.run.id", Value::Name(run.as_name().clone())));
    }
    attributes
}

fn of_offer(job: &LiveJob, offer: &LiveOffer) -> Vec<(&'static str, Value)> {
    let mut attributes = of_job(job);
    attributes.push(("bellwether.attempt", Value::Number(i64::from(offer.number))));
    let token = i64::try_from(offer.token.0).unwrap_or(i64::MAX);
    attributes.push(("bellwether.token", Value::Number(token)));
    if let Some(worker) = &offer.worker {
        attributes.push(("bellwether.worker.id", Value::Name(worker.id.as_name().clone())));
    }
    attributes
}

fn seconds(micros: u64) -> Value {
    Value::Share(micros as f64 / 1e6)
}
