//! One trace, one fleet, several strategies.

use bellwether_core::model::Strategy;
use bellwether_core::model::config::PredictorKind;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::engine_run::{EngineRun, EngineRunError};
use super::{
    Baseline, BaselineRun, Fleet, Load, LoadError, Process, StrategyReport, Tally, TraceJob,
    Workload, WorkloadError, arrivals,
};

#[derive(Debug, Clone)]
pub struct Options {
    pub fleet: Fleet,
    /// The trace's own times if none.
    pub load: Option<Load>,
    pub process: Process,
    /// The engine's.
    pub strategy: Strategy,
    pub predictor: PredictorKind,
    pub compare: Vec<Baseline>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceReport {
    pub jobs: usize,
    /// DAGs.
    pub runs: usize,
    /// By name: the engine's first, then the baselines in the order asked for.
    #[serde(serialize_with = "as_map")]
    pub strategies: Vec<(&'static str, StrategyReport)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Engine(#[from] EngineRunError),
    #[error("strategy {0} is named twice; compare with another")]
    NamedTwice(&'static str),
}

/// Simulates the jobs with each strategy. `finished` is called with the strategy's name for every
/// job that ends.
pub fn simulate(
    jobs: &[TraceJob],
    options: &Options,
    mut finished: impl FnMut(&'static str),
) -> Result<TraceReport, SimulateError> {
    let mut names = vec![options.strategy.as_str()];
    for baseline in &options.compare {
        if names.contains(&baseline.as_str()) {
            return Err(SimulateError::NamedTwice(baseline.as_str()));
        }
        names.push(baseline.as_str());
    }
    let mut workload = Workload::new(jobs)?;
    arrivals::arrange(&mut workload, &options.fleet, options.process, options.load)?;

    let name = options.strategy.as_str();
    let engine = engine_report(&workload, options, || finished(name))?;
    let mut strategies = vec![(name, engine)];
    for &baseline in &options.compare {
        let name = baseline.as_str();
        let report = baseline_report(&workload, &options.fleet, baseline, || finished(name));
        strategies.push((name, report));
    }
    Ok(TraceReport { jobs: workload.jobs(), runs: workload.runs(), strategies })
}

fn engine_report(
    workload: &Workload<'_>,
    options: &Options,
    mut finished: impl FnMut(),
) -> Result<StrategyReport, EngineRunError> {
    let mut run = EngineRun::new(options.strategy, options.predictor, &options.fleet)?;
    let mut tally = Tally::new(&options.fleet);
    for stage in &workload.stages {
        tally.add(stage, &run.run(stage, &mut finished)?);
    }
    Ok(tally.report(run.hedges, run.duplicates))
}

fn baseline_report(
    workload: &Workload<'_>,
    fleet: &Fleet,
    baseline: Baseline,
    mut finished: impl FnMut(),
) -> StrategyReport {
    let mut run = BaselineRun::new(baseline, fleet);
    let mut tally = Tally::new(fleet);
    for stage in &workload.stages {
        tally.add(stage, &run.run(stage, &mut finished));
    }
    tally.report(0, 0)
}

fn as_map<S: Serializer>(
    strategies: &[(&'static str, StrategyReport)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(strategies.len()))?;
    for (name, report) in strategies {
        map.serialize_entry(name, report)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, run_job};
    use super::*;

    fn simulated(jobs: &[TraceJob], fleet: &str, strategy: Strategy) -> StrategyReport {
        let options = Options {
            fleet: fleet.parse().unwrap(),
            load: None,
            process: Process::Trace,
            strategy,
            predictor: PredictorKind::Auto,
            compare: vec![Baseline::Fifo],
        };
        let mut ends = 0;
        let report = simulate(jobs, &options, |_| ends += 1).unwrap();
        assert_eq!(ends, 2 * jobs.len());
        assert_eq!(report, simulate(jobs, &options, |_| ()).unwrap(), "it repeats exactly");
        report.strategies[0].1.clone()
    }

    #[test]
    fn every_strategy_of_the_engine_finishes_every_job() {
        let jobs: Vec<_> = (0..40).map(|n| job(&format!("j{n}"), n * 7, 50)).collect();
        for strategy in Strategy::ALL {
            let report = simulated(&jobs, "2x2@1.0,1x1@0.5", strategy);
            assert!(report.utilization.mean > 0.0, "{}", strategy.as_str());
            assert_eq!((report.hedges, report.duplicates), (0, 0));
        }
    }

    #[test]
    fn what_was_learnt_in_one_run_carries_over_to_the_next() {
        let first = run_job("r", "a", 60_000, &[]);
        let second = run_job("q", "b", 60_000, &[]);
        let report = simulated(&[first, second], "1x1@1.0", Strategy::Predictive);
        // Only the first job of a type is predicted blindly.
        assert_eq!(report.within_25_percent, Some(0.5));
        assert_eq!(report.makespan_ms, 120_000.0);
    }

    #[test]
    fn a_chain_finds_the_fastest_class_whether_or_not_speeds_are_known() {
        let mut jobs = Vec::new();
        for run in ["p", "q", "r", "s"] {
            for n in 0..50_u32 {
                let before = n.checked_sub(1).map(|before| format!("{run}{before}"));
                let before: Vec<&str> = before.iter().map(String::as_str).collect();
                jobs.push(run_job(run, &format!("{run}{n}"), 10_000, &before));
            }
        }
        let hidden: Fleet = "5x1@0.5,6x1@1.0,5x1@2.0".parse().unwrap();
        for fleet in [hidden.clone(), hidden.measured(1)] {
            let options = Options {
                fleet,
                load: None,
                process: Process::Trace,
                strategy: Strategy::Predictive,
                predictor: PredictorKind::Auto,
                compare: Vec::new(),
            };
            let report = simulate(&jobs, &options, |_| ()).unwrap();
            let ratio = report.strategies[0].1.makespan_ratio_mean;
            assert!(ratio <= 1.1, "{ratio}");
        }
    }

    #[test]
    fn an_idle_fast_worker_is_preferred_once_it_is_known_to_be_fast() {
        let jobs: Vec<_> = (0..20).map(|n| job(&format!("j{n}"), n * 100_000, 10_000)).collect();
        let report = simulated(&jobs, "2x1@0.5,1x1@2.0", Strategy::Predictive);
        assert_eq!(report.slowdown.p50, 1.0);
    }
}
