//! Known bugs, switched on one at a time: the simulator must catch each of them.

use bellwether_core::Defect as Core;
use bellwether_sim::faults::{Defect, FaultOptions, run_many};

const SEEDS_MAX: u64 = 2_000;

const ENGINE: [Core; 14] = [
    Core::SkipFence,
    Core::ForgetDependency,
    Core::UnstableOrder,
    Core::HedgeAtMostOnce,
    Core::SecondGrant,
    Core::IgnoreHedgeBudget,
    Core::KeepCancelledRunning,
    Core::LoseRetry,
    Core::CountNoCrashes,
    Core::OverfillWorker,
    Core::ForgetIdempotencyKey,
    Core::ReopenOnLateResult,
    Core::SnapshotForgetsTimers,
    Core::IgnoreBackpressure,
];

#[test]
fn every_planted_bug_is_caught() {
    let planted = Defect::HARNESS.into_iter().chain(ENGINE.map(Defect::Core));
    let missed: Vec<Defect> = planted.filter(|defect| !is_caught(*defect)).collect();
    assert!(missed.is_empty(), "not caught within {SEEDS_MAX} seeds: {missed:?}");
}

fn is_caught(defect: Defect) -> bool {
    let report = run_many(&FaultOptions {
        seeds: SEEDS_MAX,
        defect: Some(defect),
        stop_at_first: true,
        ..FaultOptions::default()
    });
    let Some(first) = report.violations.first() else { return false };
    eprintln!("{defect:?}: {} after {} seeds: {}", first.invariant, first.seed, first.detail);
    true
}
