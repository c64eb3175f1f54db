//! What a strategy made of a workload, in figures.

use std::collections::BTreeMap;

use bellwether_core::model::Micros;
use serde::Serialize;

use super::{Fleet, LowerBound, Stage};

/// How one job fared; times count from the start of its stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Position in the fleet.
    pub machine: usize,
    /// It had arrived, and its dependencies were complete.
    pub ready: Micros,
    pub start: Micros,
    pub end: Micros,
    /// What the decision expected it to take there.
    pub predicted: Option<Micros>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrategyReport {
    /// The stages' makespans in all: from the first arrival to the last end.
    pub makespan_ms: f64,
    /// To the combined lower bound, over the DAGs; over the stream where there are none.
    pub makespan_ratio_mean: f64,
    pub makespan_ratio_p95: f64,
    /// The same to the plain lower bound, which many DAGs can't reach on any schedule.
    pub makespan_ratio_plain_mean: f64,
    /// From ready (arrived, dependencies complete) to start.
    pub wait_ms: Distribution,
    /// The response over the time that the job takes on the fleet's fastest machine; at least 1.
    pub slowdown: Distribution,
    /// From ready to end.
    pub response_ms: Distribution,
    pub utilization: Utilization,
    /// The share of jobs whose predicted duration was within a quarter of the actual one; none
    /// if the strategy does not predict.
    pub within_25_percent: Option<f64>,
    pub hedges: u64,
    /// Executions beyond the first of a job.
    pub duplicates: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Distribution {
    pub mean: f64,
    pub p50: f64,
    pub p99: f64,
}

/// Shares of the slots' time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Utilization {
    pub mean: f64,
    /// The largest difference between two workers of one class.
    pub spread: f64,
}

/// Makespans over lower bounds.
#[derive(Debug, Default)]
struct Ratios {
    combined: Vec<f64>,
    plain: Vec<f64>,
}

/// Gathers outcomes, stage by stage.
#[derive(Debug)]
pub struct Tally<'a> {
    fleet: &'a Fleet,
    makespan: f64,
    run_ratios: Ratios,
    stream_ratios: Ratios,
    waits: Vec<f64>,
    slowdowns: Vec<f64>,
    responses: Vec<f64>,
    /// By machine.
    busy: Vec<f64>,
    predicted: u64,
    near: u64,
}

impl<'a> Tally<'a> {
    pub fn new(fleet: &'a Fleet) -> Tally<'a> {
        Tally {
            fleet,
            makespan: 0.0,
            run_ratios: Ratios::default(),
            stream_ratios: Ratios::default(),
            waits: Vec::new(),
            slowdowns: Vec::new(),
            responses: Vec::new(),
            busy: vec![0.0; fleet.machines().len()],
            predicted: 0,
            near: 0,
        }
    }

    pub fn add(&mut self, stage: &Stage<'_>, outcomes: &[Outcome]) {
        let fastest = self.fleet.fastest();
        for (job, outcome) in stage.jobs.iter().zip(outcomes) {
            let response = outcome.end.minus(outcome.ready).0 as f64;
            let took = outcome.end.minus(outcome.start).0 as f64;
            self.waits.push(outcome.start.minus(outcome.ready).0 as f64 / 1_000.0);
            self.responses.push(response / 1_000.0);
            self.slowdowns.push((response / fastest.time_for(job.work).0 as f64).max(1.0));
            self.busy[outcome.machine] += took;
            if let Some(predicted) = outcome.predicted {
                self.predicted += 1;
                self.near += u64::from((predicted.0 as f64 - took).abs() <= 0.25 * took);
            }
        }
        let end = outcomes.iter().map(|outcome| outcome.end.0).max().unwrap_or(0) as f64;
        let bound = LowerBound::of(stage, self.fleet);
        let ratios =
            if stage.run.is_some() { &mut self.run_ratios } else { &mut self.stream_ratios };
        ratios.combined.push(end / bound.combined);
        ratios.plain.push(end / bound.plain);
        self.makespan += end;
    }

    pub fn report(mut self, hedges: u64, duplicates: u64) -> StrategyReport {
        let runs = !self.run_ratios.combined.is_empty();
        let mut ratios = if runs { self.run_ratios } else { self.stream_ratios };
        ratios.combined.sort_by(f64::total_cmp);
        StrategyReport {
            makespan_ms: self.makespan / 1_000.0,
            makespan_ratio_mean: mean(&ratios.combined),
            makespan_ratio_p95: percentile(&ratios.combined, 95),
            makespan_ratio_plain_mean: mean(&ratios.plain),
            wait_ms: Distribution::of(&mut self.waits),
            slowdown: Distribution::of(&mut self.slowdowns),
            response_ms: Distribution::of(&mut self.responses),
            utilization: utilization(self.fleet, &self.busy, self.makespan),
            within_25_percent: (self.predicted > 0)
                .then(|| self.near as f64 / self.predicted as f64),
            hedges,
            duplicates,
        }
    }
}

impl Distribution {
    pub(crate) fn of(values: &mut [f64]) -> Distribution {
        values.sort_by(f64::total_cmp);
        Distribution {
            mean: mean(values),
            p50: percentile(values, 50),
            p99: percentile(values, 99),
        }
    }
}

fn utilization(fleet: &Fleet, busy: &[f64], makespan: f64) -> Utilization {
    let mut classes: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    let (mut busy_total, mut slots_total) = (0.0, 0.0);
    for (machine, &busy) in fleet.machines().iter().zip(busy) {
        let slots = f64::from(machine.slots);
        let share = busy / (slots * makespan).max(1.0);
        let (low, high) = classes.entry(machine.speed).or_insert((share, share));
        *low = low.min(share);
        *high = high.max(share);
        busy_total += busy;
        slots_total += slots;
    }
    let spread = classes.values().map(|(low, high)| high - low).fold(0.0, f64::max);
    Utilization { mean: busy_total / (slots_total * makespan).max(1.0), spread }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Nearest rank: the smallest value that at least this share does not exceed.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, run_job};
    use super::super::{TraceJob, Workload};
    use super::*;

    fn outcome(machine: usize, ready: u64, start: u64, end: u64) -> Outcome {
        let [ready, start, end] = [ready, start, end].map(Micros::from_millis);
        Outcome { machine, ready, start, end, predicted: None }
    }

    fn tally(fleet: &str, jobs: &[TraceJob], outcomes: &[Outcome]) -> StrategyReport {
        let fleet: Fleet = fleet.parse().unwrap();
        let workload = Workload::new(jobs).unwrap();
        let mut tally = Tally::new(&fleet);
        let mut rest = outcomes;
        for stage in &workload.stages {
            let (these, others) = rest.split_at(stage.jobs.len());
            tally.add(stage, these);
            rest = others;
        }
        tally.report(0, 0)
    }

    #[test]
    fn waits_responses_and_slowdowns_of_a_stream() {
        let jobs = [job("a", 0, 10), job("b", 0, 10)];
        let outcomes = [outcome(0, 0, 0, 10), outcome(0, 0, 10, 20)];
        let report = tally("1x1@1.0", &jobs, &outcomes);
        assert_eq!(report.wait_ms, Distribution { mean: 5.0, p50: 0.0, p99: 10.0 });
        assert_eq!(report.response_ms, Distribution { mean: 15.0, p50: 10.0, p99: 20.0 });
        assert_eq!(report.slowdown, Distribution { mean: 1.5, p50: 1.0, p99: 2.0 });
        assert_eq!(report.makespan_ms, 20.0);
        assert_eq!(report.makespan_ratio_mean, 1.0);
        assert_eq!(report.within_25_percent, None);
    }

    #[test]
    fn slowdown_is_relative_to_the_fastest_machine() {
        let report = tally("1x1@0.5,1x1@2.0", &[job("a", 0, 10)], &[outcome(0, 0, 0, 20)]);
        assert_eq!(report.slowdown.mean, 4.0);
    }

    #[test]
    fn makespan_ratios_are_per_run_and_makespans_add_up() {
        let jobs = [run_job("r", "a", 10, &[]), run_job("q", "b", 10, &[])];
        let outcomes = [outcome(0, 0, 0, 10), outcome(0, 0, 5, 15)];
        let report = tally("1x1@1.0", &jobs, &outcomes);
        assert_eq!(report.makespan_ms, 25.0);
        assert_eq!(report.makespan_ratio_mean, 1.25);
        assert_eq!(report.makespan_ratio_p95, 1.5);
    }

    #[test]
    fn spread_compares_only_workers_of_one_class() {
        let jobs = [job("a", 0, 20), job("b", 0, 10), job("c", 0, 10)];
        let outcomes = [outcome(0, 0, 0, 20), outcome(1, 0, 0, 10), outcome(2, 0, 0, 5)];
        let report = tally("2x1@1.0,1x2@2.0", &jobs, &outcomes);
        assert_eq!(report.utilization.spread, 0.5);
        assert_eq!(report.utilization.mean, 35.0 / 80.0);
    }

    #[test]
    fn a_prediction_a_quarter_off_still_counts_as_near() {
        let jobs = [job("a", 0, 100), job("b", 0, 100)];
        let with = |predicted| Outcome {
            predicted: Some(Micros::from_millis(predicted)),
            ..outcome(0, 0, 0, 100)
        };
        let report = tally("1x2@1.0", &jobs, &[with(75), with(126)]);
        assert_eq!(report.within_25_percent, Some(0.5));
    }
}
