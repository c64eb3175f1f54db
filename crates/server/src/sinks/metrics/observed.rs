//! What durable events add up to, since the process started.

use std::collections::BTreeMap;

use bellwether_core::model::{FailureCause, JobStatus, Name, Seq, Timestamp};
use bellwether_core::{AttemptEnd, Decision, Event};

use super::histogram::{Histogram, LONG_SPANS, SHARES, SPANS};
use super::labels::Labelled;
use super::text::{Kind, Text};
use super::{TYPES_NAMED_MAX, WORKERS_NAMED_MAX};
use crate::projections::telemetry::live::{LiveJob, LiveOffer};
use crate::projections::telemetry::sighting::Sighting;

#[derive(Debug)]
pub(crate) struct Observed {
    types: Labelled<TypeCounts>,
    workers: Labelled<WorkerCounts>,
    decisions: u64,
    fallbacks: u64,
    hedges: u64,
    escalations: u64,
    failures: [u64; FailureCause::ALL.len()],
    predictor_failures: u64,
    breaker_opened: u64,
    queue: Histogram,
    dispatch: Histogram,
    prediction_error: Histogram,
    /// How far the events have been taken in.
    pub(super) position: Seq,
}

#[derive(Debug, Clone)]
struct TypeCounts {
    submitted: u64,
    ended: [u64; JobStatus::ALL.len()],
    retries: u64,
    drifts: u64,
    predictions: u64,
    predictions_near: u64,
    job: Histogram,
    attempt: Histogram,
}

#[derive(Debug, Clone, Default)]
struct WorkerCounts {
    completed: u64,
    failed: u64,
    revoked: u64,
}

impl TypeCounts {
    fn new() -> TypeCounts {
        TypeCounts {
            submitted: 0,
            ended: [0; JobStatus::ALL.len()],
            retries: 0,
            drifts: 0,
            predictions: 0,
            predictions_near: 0,
            job: Histogram::new(&LONG_SPANS),
            attempt: Histogram::new(&LONG_SPANS),
        }
    }
}

/// A type of jobs, as far as it was seen.
#[derive(Debug, Clone)]
pub(crate) struct TypeSeen {
    pub(crate) name: String,
    pub(crate) submitted: u64,
    pub(crate) ended: BTreeMap<&'static str, u64>,
    pub(crate) retries: u64,
    pub(crate) predictions: u64,
    pub(crate) near: u64,
}

impl Observed {
    pub(super) fn types(&self) -> Vec<TypeSeen> {
        let seen = self.types.iter().map(|(name, counts)| {
            let ways =
                JobStatus::ALL.into_iter().map(|how| (how.as_str(), counts.ended[how as usize]));
            TypeSeen {
                name: name.to_owned(),
                submitted: counts.submitted,
                ended: ways.filter(|(_, count)| *count > 0).collect(),
                retries: counts.retries,
                predictions: counts.predictions,
                near: counts.predictions_near,
            }
        });
        seen.filter(|seen| seen.submitted > 0 || !seen.ended.is_empty()).collect()
    }

    pub(super) fn new() -> Observed {
        Observed {
            types: Labelled::new(TYPES_NAMED_MAX, TypeCounts::new()),
            workers: Labelled::new(WORKERS_NAMED_MAX, WorkerCounts::default()),
            decisions: 0,
            fallbacks: 0,
            hedges: 0,
            escalations: 0,
            failures: [0; FailureCause::ALL.len()],
            predictor_failures: 0,
            breaker_opened: 0,
            queue: Histogram::new(&SPANS),
            dispatch: Histogram::new(&SPANS),
            prediction_error: Histogram::new(&SHARES),
            position: Seq(0),
        }
    }

    pub(super) fn type_names(&self) -> Vec<Name> {
        self.types.names().cloned().collect()
    }

    fn of_type(&mut self, job: &LiveJob) -> &mut TypeCounts {
        self.types.of(job.spec.kind(), TypeCounts::new)
    }

    pub(super) fn see(&mut self, sighting: &Sighting<'_>) {
        match sighting {
            Sighting::Submitted { job } => self.of_type(job).submitted += 1,
            Sighting::Decided { job, offer, decision, .. } => self.decided(job, offer, decision),
            Sighting::Started { offer } => {
                let started = offer.started_at.unwrap_or(offer.offered_at);
                self.dispatch.observe(started.since(offer.offered_at).0);
            }
            Sighting::OfferEnded { job, offer, end, at, .. } => {
                self.offer_ended(job, offer, *end, *at);
            }
            Sighting::Ended { job, how, at } => {
                let counts = self.of_type(job);
                counts.ended[*how as usize] += 1;
                counts.job.observe(at.since(job.submitted_at).0);
            }
            Sighting::Other { event, job } => self.other(event, *job),
        }
    }

    fn other(&mut self, event: &Event, job: Option<&LiveJob>) {
        match (event, job) {
            (Event::Retried { .. }, Some(job)) => self.of_type(job).retries += 1,
            (Event::Escalated { .. }, _) => self.escalations += 1,
            (Event::PredictorFailed { .. }, _) => self.predictor_failures += 1,
            (Event::BreakerOpened { .. }, _) => self.breaker_opened += 1,
            (Event::DriftDetected { kind, .. }, _) => {
                self.types.of(kind, TypeCounts::new).drifts += 1;
            }
            _ => {}
        }
    }

    fn decided(&mut self, job: &LiveJob, offer: &LiveOffer, decision: &Decision) {
        self.decisions += 1;
        self.fallbacks += u64::from(decision.fallback);
        self.hedges += u64::from(offer.hedge);
        if !offer.hedge {
            self.queue.observe(offer.offered_at.since(job.queued_at).0);
        }
    }

    fn offer_ended(
        &mut self,
        job: &LiveJob,
        offer: &LiveOffer,
        end: AttemptEnd<'_>,
        at: Timestamp,
    ) {
        if let Some(worker) = &offer.worker {
            let counts = self.workers.of(worker.id.as_name(), WorkerCounts::default);
            match end {
                AttemptEnd::Completed { .. } => counts.completed += 1,
                AttemptEnd::Failed { .. } => counts.failed += 1,
                AttemptEnd::Revoked { .. } => counts.revoked += 1,
            }
        }
        match end {
            AttemptEnd::Completed { .. } => {
                let actual = at.since(offer.started_at.unwrap_or(offer.offered_at)).0.max(1);
                let missed = offer.predicted.0.abs_diff(actual);
                self.prediction_error.observe(missed.saturating_mul(1_000) / actual);
                let counts = self.of_type(job);
                counts.predictions += 1;
                counts.predictions_near += u64::from(missed <= actual / 4);
                counts.attempt.observe(actual);
            }
            AttemptEnd::Failed { cause, .. } => {
                let place = FailureCause::ALL.iter().position(|known| *known == cause);
                self.failures[place.expect("all of them are listed")] += 1;
            }
            AttemptEnd::Revoked { .. } => {}
        }
    }

    pub(super) fn write(&self, text: &mut Text) {
        self.write_types(text);
        self.write_attempts(text);
        self.write_summary(text);
        let help = "From when a job could be placed until a worker was chosen";
        text.distribution("bellwether_queue_seconds", help, &self.queue);
        let help = "From the choice of a worker until it said that it runs the job";
        text.distribution("bellwether_dispatch_seconds", help, &self.dispatch);
        let help = "How far off predictions were, as a share of the actual duration";
        text.distribution("bellwether_prediction_error_ratio", help, &self.prediction_error);
    }

    fn write_types(&self, text: &mut Text) {
        let help = "Jobs submitted, by type";
        let family = text.family("bellwether_jobs_submitted_total", Kind::Counter, help);
        for (name, counts) in self.types.iter() {
            family.sample(&[("type", name)], counts.submitted);
        }
        let help = "Jobs ended, by type and how";
        let family = text.family("bellwether_jobs_ended_total", Kind::Counter, help);
        for (name, counts) in self.types.iter() {
            for how in JobStatus::ALL.into_iter().filter(|status| status.has_ended()) {
                let labels = [("type", name), ("outcome", how.as_str())];
                family.sample(&labels, counts.ended[how as usize]);
            }
        }
        type Read = fn(&TypeCounts) -> u64;
        let counters: [(&'static str, &str, Read); 4] = [
            ("bellwether_retries_total", "Attempts that were followed by another", |c| c.retries),
            ("bellwether_drifts_total", "Times that predictions became worse", |c| c.drifts),
            ("bellwether_predictions_total", "Predictions that were tested", |c| c.predictions),
            (
                "bellwether_predictions_near_total",
                "Predictions within 25% of the actual duration",
                |c| c.predictions_near,
            ),
        ];
        for (name, help, read) in counters {
            let family = text.family(name, Kind::Counter, help);
            for (name, counts) in self.types.iter() {
                family.sample(&[("type", name)], read(counts));
            }
        }
        let help = "From submission to end";
        let family = text.family("bellwether_job_seconds", Kind::Histogram, help);
        for (name, counts) in self.types.iter() {
            family.buckets(&[("type", name)], &counts.job);
        }
        let help = "How long attempts that completed ran";
        let family = text.family("bellwether_attempt_seconds", Kind::Histogram, help);
        for (name, counts) in self.types.iter() {
            family.buckets(&[("type", name)], &counts.attempt);
        }
    }

    /// What requirements call by these names, beside the counters that they are made of.
    fn write_summary(&self, text: &mut Text) {
        let help = "Jobs that a worker completed or failed";
        let family = text.family("bellwether_jobs_per_agent", Kind::Gauge, help);
        for (name, counts) in self.workers.iter() {
            family.sample(&[("worker", name)], counts.completed + counts.failed);
        }
        let help = "Attempts that were followed by another, by type";
        let family = text.family("bellwether_retry_counts", Kind::Gauge, help);
        for (name, counts) in self.types.iter() {
            family.sample(&[("type", name)], counts.retries);
        }
        let help = "Share of the jobs that ended which failed or were dead-lettered, by type";
        let family = text.family("bellwether_failure_rate", Kind::Gauge, help);
        for (name, counts) in self.types.iter() {
            let failed = [JobStatus::Failed, JobStatus::DeadLettered];
            let failed: u64 = failed.iter().map(|how| counts.ended[*how as usize]).sum();
            let ended: u64 = counts.ended.iter().sum();
            family.sample(&[("type", name)], failed as f64 / ended.max(1) as f64);
        }
        let help = "Mean time from submission to end in seconds, by type";
        let family = text.family("bellwether_average_latency", Kind::Gauge, help);
        for (name, counts) in self.types.iter() {
            family.sample(&[("type", name)], counts.job.mean());
        }
    }

    fn write_attempts(&self, text: &mut Text) {
        let help = "Attempts that ended, by worker and how";
        let family = text.family("bellwether_worker_attempts_total", Kind::Counter, help);
        for (name, counts) in self.workers.iter() {
            let worker = ("worker", name);
            family.sample(&[worker, ("outcome", "completed")], counts.completed);
            family.sample(&[worker, ("outcome", "failed")], counts.failed);
            family.sample(&[worker, ("outcome", "revoked")], counts.revoked);
        }
        let help = "Attempts that ended without a result, by cause";
        let family = text.family("bellwether_attempts_failed_total", Kind::Counter, help);
        for (cause, count) in FailureCause::ALL.into_iter().zip(self.failures) {
            family.sample(&[("cause", cause.as_str())], count);
        }
        for (name, help, value) in [
            ("bellwether_decisions_total", "Jobs offered to workers", self.decisions),
            ("bellwether_hedges_total", "Offers that backed up a quiet one", self.hedges),
            ("bellwether_fallbacks_total", "Decisions without a predictor", self.fallbacks),
            ("bellwether_escalations_total", "Jobs that escalated", self.escalations),
            (
                "bellwether_predictor_failures_total",
                "Predictions that failed",
                self.predictor_failures,
            ),
            ("bellwether_breaker_opened_total", "Times the breaker opened", self.breaker_opened),
        ] {
            text.counter(name, help, value);
        }
    }
}
