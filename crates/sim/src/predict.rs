//! How well a predictor would have foretold a trace.
//!
//! Every job starts as soon as it may, as on a fleet without bounds: when it arrives, or when its
//! last dependency has finished. That is when it is predicted; it is learned from when it has
//! finished, and not before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bellwether_core::model::config::PredictorKind;
use bellwether_core::model::{Micros, Name, Timestamp};
use bellwether_core::place::pace::Level;
use bellwether_core::place::predictor::{
    Features, Observation, Predictor, PredictorError, Statistics, predictor, size_bucket,
};
use serde::Serialize;

use crate::trace::{Stage, TraceJob, Workload, WorkloadError};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictReport {
    pub jobs: usize,
    /// The share of jobs, from 0 to 1, whose prediction was off by at most a quarter of what they
    /// took.
    pub within_25_percent: f64,
    /// Of |predicted - actual| / actual.
    pub median_error: f64,
    /// How often a type's predictions began to be worse than usual.
    pub drifts: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Predictor(#[from] PredictorError),
}

/// Predicts every job of a trace. Runs follow one after another, each after all before it have
/// finished; what has been learned carries over.
pub fn predict(jobs: &[TraceJob], kind: PredictorKind) -> Result<PredictReport, PredictError> {
    let mut foreteller = Foreteller {
        predictor: predictor(kind),
        statistics: Statistics::default(),
        errors: Vec::with_capacity(jobs.len()),
        drifts: 0,
        stage_start: Timestamp(0),
    };
    for stage in &Workload::new(jobs)?.stages {
        foreteller.live_through(stage)?;
    }
    Ok(foreteller.report())
}

struct Foreteller {
    predictor: Box<dyn Predictor>,
    statistics: Statistics,
    errors: Vec<f64>,
    drifts: usize,
    /// When all stages before have finished.
    stage_start: Timestamp,
}

/// Finishes come before starts at the same moment: what is known by then may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Finish { predicted: Micros },
    Start,
}

impl Foreteller {
    fn live_through(&mut self, stage: &Stage<'_>) -> Result<(), PredictError> {
        let mut unmet: Vec<usize> = stage.jobs.iter().map(|job| job.dependencies.len()).collect();
        let mut steps = BinaryHeap::new();
        for (at, job) in stage.jobs.iter().enumerate().filter(|(at, _)| unmet[*at] == 0) {
            steps.push(Reverse((self.stage_start + job.arrival, Step::Start, at)));
        }
        let mut end = self.stage_start;
        while let Some(Reverse((now, step, at))) = steps.pop() {
            end = now;
            let job = &stage.jobs[at];
            match step {
                Step::Start => {
                    let predicted = self.foretell(job.trace, job.work)?;
                    steps.push(Reverse((now + job.work, Step::Finish { predicted }, at)));
                }
                Step::Finish { predicted } => {
                    self.learn(job.trace, now - job.work, job.work, predicted);
                    for &dependent in &job.dependents {
                        unmet[dependent] -= 1;
                        if unmet[dependent] == 0 {
                            let arrival = self.stage_start + stage.jobs[dependent].arrival;
                            steps.push(Reverse((now.max(arrival), Step::Start, dependent)));
                        }
                    }
                }
            }
        }
        self.stage_start = end;
        Ok(())
    }

    fn foretell(&mut self, job: &TraceJob, actual: Micros) -> Result<Micros, PredictorError> {
        let (features, class) = self.known(job);
        let prediction = self.predictor.predict(&self.statistics, &features, Some(class))?;
        let off = prediction.estimate.0.abs_diff(actual.0);
        self.errors.push(off as f64 / actual.0.max(1) as f64);
        Ok(prediction.estimate)
    }

    fn learn(&mut self, job: &TraceJob, started: Timestamp, actual: Micros, predicted: Micros) {
        let (features, class) = self.known(job);
        let observation =
            Observation { features, class, started, actual, predicted, pace: Level::default() };
        let drift = self.statistics.observe(&observation);
        self.drifts += usize::from(drift.is_some());
    }

    fn known(&mut self, job: &TraceJob) -> (Features, u32) {
        let mut number = |name: Option<&Name>| name.map_or(0, |name| self.statistics.intern(name));
        let features = Features {
            kind: number(Some(&job.kind)),
            sender: number(job.sender.as_ref()),
            size_bucket: size_bucket(job.payload_bytes),
            cpu: job.cpu,
        };
        (features, number(job.worker_class.as_ref()))
    }

    fn report(mut self) -> PredictReport {
        let jobs = self.errors.len();
        let near = self.errors.iter().filter(|error| **error <= 0.25).count();
        self.errors.sort_unstable_by(f64::total_cmp);
        PredictReport {
            jobs,
            within_25_percent: near as f64 / jobs.max(1) as f64,
            median_error: self.errors.get(jobs / 2).copied().unwrap_or(0.0),
            drifts: self.drifts,
        }
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{JobId, RunId};

    use super::*;

    fn job(id: &str, submit_ms: u64, duration_ms: u64) -> TraceJob {
        TraceJob {
            id: JobId::fixed(id),
            kind: Name::fixed("t"),
            submit_ms,
            duration_ms,
            run: None,
            dependencies: Vec::new(),
            cpu: 0,
            payload_bytes: 0,
            sender: None,
            worker_class: None,
        }
    }

    fn within(jobs: &[TraceJob]) -> f64 {
        predict(jobs, PredictorKind::Auto).expect("a sound trace").within_25_percent
    }

    #[test]
    fn a_job_is_learned_from_only_once_it_has_finished() {
        let overlapping = [job("a", 0, 100), job("b", 99, 100)];
        assert_eq!(within(&overlapping), 0.0);
        let following = [job("a", 0, 100), job("b", 100, 100)];
        assert_eq!(within(&following), 0.5);
    }

    #[test]
    fn a_job_of_a_run_is_predicted_when_its_dependencies_have_finished() {
        let mut jobs = [job("a", 0, 100), job("b", 0, 100), job("c", 0, 100)];
        for job in &mut jobs {
            job.run = Some(RunId::fixed("run"));
        }
        assert_eq!(within(&jobs), 0.0);
        jobs[1].dependencies = vec![JobId::fixed("a")];
        jobs[2].dependencies = vec![JobId::fixed("b")];
        assert_eq!(within(&jobs), 2.0 / 3.0);
    }
}
