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
