//! A trace made ready to run: independent jobs form one stream with its arrival times, the jobs
//! of each `run` form one DAG.
//!
//! Stages are simulated one after another: the stream first, then the DAGs in the order of the
//! file. A DAG is submitted whole at time zero of its stage, to an idle fleet.

use std::collections::BTreeMap;
use std::ops::Range;

use bellwether_core::model::{JobId, JobSpec, Micros, RunId};

use super::TraceJob;

#[derive(Debug)]
pub struct Workload<'a> {
    pub stages: Vec<Stage<'a>>,
}

#[derive(Debug)]
pub struct Stage<'a> {
    /// None for the stream of independent jobs.
    pub run: Option<RunId>,
    /// In order of arrival.
    pub jobs: Vec<StageJob<'a>>,
    /// How they are handed in, in order of arrival; each job is in one of them.
    pub batches: Vec<Batch>,
}

/// Jobs that are submitted together, when the first of them arrives.
#[derive(Debug, Clone)]
pub struct Batch {
    pub run: Option<RunId>,
    /// Positions in the stage.
    pub jobs: Range<usize>,
}

#[derive(Debug)]
pub struct StageJob<'a> {
    pub trace: &'a TraceJob,
    /// Counted from the start of the stage.
    pub arrival: Micros,
    /// What it takes at speed 1.
    pub work: Micros,
    /// Positions in the stage, without repeats.
    pub dependencies: Vec<usize>,
    pub dependents: Vec<usize>,
    /// The job to submit, where the trace does not say it all; without its dependencies.
    pub asked: Option<JobSpec>,
    /// How long the first worker that it is offered to is quiet before it starts.
    pub quiet: Micros,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    #[error("run {run}: job {job} depends on {dependency}, which is not a job of that run")]
    UnknownDependency { run: RunId, job: JobId, dependency: JobId },
    #[error("run {run}: job {job} is part of a cycle of dependencies")]
    Cycle { run: RunId, job: JobId },
}

impl<'a> Workload<'a> {
    /// The jobs at the times of the trace, counted from its first.
    pub fn new(jobs: &'a [TraceJob]) -> Result<Workload<'a>, WorkloadError> {
        let mut stream = Vec::new();
        let mut order = Vec::new();
        let mut runs: BTreeMap<&RunId, Vec<StageJob<'a>>> = BTreeMap::new();
        for trace in jobs {
            let mut job = StageJob {
                trace,
                arrival: Micros::ZERO,
                work: Micros::from_millis(trace.duration_ms),
                dependencies: Vec::new(),
                dependents: Vec::new(),
                asked: None,
                quiet: Micros::ZERO,
            };
            if let Some(run) = &trace.run {
                let members = runs.entry(run).or_default();
                if members.is_empty() {
                    order.push(run);
                }
                members.push(job);
            } else {
                job.arrival = Micros::from_millis(trace.submit_ms);
                stream.push(job);
            }
        }
        let mut stages = Vec::new();
        if !stream.is_empty() {
            stream.sort_by_key(|job| job.arrival);
            let first = stream[0].arrival;
            for job in &mut stream {
                job.arrival = job.arrival.minus(first);
            }
            let alone = |at| Batch { run: None, jobs: at..at + 1 };
            let batches = (0..stream.len()).map(alone).collect();
            stages.push(Stage { run: None, jobs: stream, batches });
        }
        for run in order {
            let mut members = runs.remove(run).expect("every run in the order has members");
            link(run, &mut members)?;
            let whole = Batch { run: Some(run.clone()), jobs: 0..members.len() };
            stages.push(Stage { run: Some(run.clone()), jobs: members, batches: vec![whole] });
        }
        Ok(Workload { stages })
    }

    pub fn jobs(&self) -> usize {
        self.stages.iter().map(|stage| stage.jobs.len()).sum()
    }

    pub fn runs(&self) -> usize {
        self.stages.iter().filter(|stage| stage.run.is_some()).count()
    }
}

impl Stage<'_> {
    /// All the work at speed 1, in microseconds.
    pub fn work(&self) -> f64 {
        self.jobs.iter().map(|job| job.work.0 as f64).sum()
    }

    /// The jobs such that each comes after its dependencies.
    pub fn topological(&self) -> Vec<usize> {
        topological(&self.jobs)
    }
}

/// Resolves dependencies to positions and refuses what is no DAG.
fn link(run: &RunId, jobs: &mut [StageJob<'_>]) -> Result<(), WorkloadError> {
    let positions: BTreeMap<&str, usize> =
        jobs.iter().enumerate().map(|(at, job)| (job.trace.id.as_str(), at)).collect();
    for at in 0..jobs.len() {
        let trace = jobs[at].trace;
        for dependency in &trace.dependencies {
            let Some(&on) = positions.get(dependency.as_str()) else {
                return Err(WorkloadError::UnknownDependency {
                    run: run.clone(),
                    job: trace.id.clone(),
                    dependency: dependency.clone(),
                });
            };
            if !jobs[at].dependencies.contains(&on) {
                jobs[at].dependencies.push(on);
                jobs[on].dependents.push(at);
            }
        }
    }
    let sorted = topological(jobs);
    if sorted.len() < jobs.len() {
        let mut left: Vec<bool> = vec![true; jobs.len()];
        for at in sorted {
            left[at] = false;
        }
        let at = left.iter().position(|&left| left).expect("some job was not sorted");
        return Err(WorkloadError::Cycle { run: run.clone(), job: jobs[at].trace.id.clone() });
    }
    Ok(())
}

fn topological(jobs: &[StageJob<'_>]) -> Vec<usize> {
    let mut unmet: Vec<usize> = jobs.iter().map(|job| job.dependencies.len()).collect();
    let mut sorted: Vec<usize> = (0..jobs.len()).filter(|&at| unmet[at] == 0).collect();
    let mut next = 0;
    while next < sorted.len() {
        for &dependent in &jobs[sorted[next]].dependents {
            unmet[dependent] -= 1;
            if unmet[dependent] == 0 {
                sorted.push(dependent);
            }
        }
        next += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, run_job};
    use super::*;

    #[test]
    fn independent_jobs_are_one_stream_and_each_run_is_a_dag() {
        let jobs = [
            run_job("r2", "x", 1, &[]),
            job("late", 70, 1),
            job("early", 50, 1),
            run_job("r1", "y", 1, &["z", "z"]),
            run_job("r1", "z", 1, &[]),
        ];
        let workload = Workload::new(&jobs).unwrap();
        assert_eq!((workload.jobs(), workload.runs()), (5, 2));
        let [stream, r2, r1] = &workload.stages[..] else { panic!("three stages") };
        assert_eq!(stream.jobs[0].trace.id.as_str(), "early");
        assert_eq!(stream.jobs[1].arrival, Micros::from_millis(20));
        assert_eq!(r2.run.as_ref().unwrap().as_str(), "r2");
        assert_eq!(r1.jobs[0].dependencies, [1]);
        assert_eq!(r1.topological(), [1, 0]);
    }

    #[test]
    fn a_run_that_is_no_dag_is_refused() {
        let check = |jobs: &[TraceJob], wanted: &str| {
            assert_eq!(Workload::new(jobs).unwrap_err().to_string(), wanted);
        };
        check(
            &[run_job("r", "a", 1, &["b"])],
            "run r: job a depends on b, which is not a job of that run",
        );
        check(
            &[
                run_job("r", "a", 1, &[]),
                run_job("r", "b", 1, &["c"]),
                run_job("r", "c", 1, &["b"]),
            ],
            "run r: job b is part of a cycle of dependencies",
        );
    }
}
