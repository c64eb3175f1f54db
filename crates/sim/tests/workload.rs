//! Placement and prediction on a sample of a real workload are as good as they are said to be.

use std::path::Path;

use bellwether_core::model::Strategy;
use bellwether_core::model::config::PredictorKind;
use bellwether_sim::predict::predict;
use bellwether_sim::trace::{
    Baseline, Load, Options, Process, StrategyReport, TraceJob, reader, simulate,
};

fn sample() -> Vec<TraceJob> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    reader::read(&folder.join("azure-vmnoise-sample.jsonl.gz")).expect("the sample is there")
}

/// Predictive, first in first out, least loaded.
fn strategies(fleet: &str) -> [StrategyReport; 3] {
    let options = Options {
        fleet: fleet.parse().expect("a fleet"),
        load: Some(Load::new(0.8).expect("a share")),
        process: Process::Trace,
        strategy: Strategy::Predictive,
        predictor: PredictorKind::Auto,
        compare: vec![Baseline::Fifo, Baseline::LeastLoaded],
    };
    let report = simulate(&sample(), &options, |_| ()).expect("the sample can be run");
    let reports: Vec<StrategyReport> = report.strategies.into_iter().map(|(_, r)| r).collect();
    reports.try_into().expect("three strategies were asked for")
}

#[test]
fn on_mixed_speeds_jobs_are_slowed_down_less_and_none_pays_for_it() {
    for fleet in ["4x2@2.0,4x2@1.0,8x2@0.5", "6x1@0.5,5x1@1.0,5x1@2.0"] {
        let [predictive, fifo, least_loaded] = strategies(fleet);
        let slowdown = predictive.slowdown.mean / least_loaded.slowdown.mean;
        assert!(slowdown <= 0.75, "{fleet}: {slowdown} of least loaded");
        let response = predictive.response_ms.p99 / fifo.response_ms.p99;
        assert!(response <= 1.2, "{fleet}: {response} of first in, first out");
        assert!(predictive.utilization.spread < 0.15, "{fleet}: {:?}", predictive.utilization);
    }
}

#[test]
fn durations_are_foretold() {
    let within = |kind| predict(&sample(), kind).unwrap().within_25_percent;
    assert!(within(PredictorKind::Auto) >= 0.95);
    assert!(within(PredictorKind::Hierarchical) >= 0.95);
}
