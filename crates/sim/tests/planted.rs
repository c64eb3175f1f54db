//! Known bugs, switched on one at a time: the simulator must catch each of them, and by an invariant
//! that it breaks; and there is no invariant that catches none.

use bellwether_sim::faults::{Defect, FaultOptions, FoundViolation, invariant_names, run_many};

/// Tried first where several bugs may do.
const SEEDS_FEW: u64 = 100;
const SEEDS_MAX: u64 = 2_000;

#[test]
fn every_planted_bug_is_caught_by_an_invariant_that_it_breaks() {
    let mut wrong = Vec::new();
    for defect in Defect::all() {
        match first_violation(defect, None, SEEDS_MAX) {
            Some(found) if defect.caught_by().contains(&found.invariant) => {}
            found => wrong.push((defect, found.map(|found| (found.invariant, found.detail)))),
        }
    }
    assert!(wrong.is_empty(), "not caught, or by another invariant than it may be: {wrong:#?}");
}

#[test]
fn every_invariant_catches_a_planted_bug_by_itself() {
    let mut idle = Vec::new();
    for invariant in invariant_names() {
        let breaking = || Defect::all().filter(|defect| defect.caught_by().contains(&invariant));
        let caught = |seeds| {
            breaking().any(|defect| first_violation(defect, Some(invariant), seeds).is_some())
        };
        if !caught(SEEDS_FEW) && !caught(SEEDS_MAX) {
            idle.push(invariant);
        }
    }
    assert!(idle.is_empty(), "no planted bug shows these at work: {idle:?}");
}

/// With `only` this invariant watching.
fn first_violation(
    defect: Defect,
    only: Option<&'static str>,
    seeds: u64,
) -> Option<FoundViolation> {
    let report = run_many(&FaultOptions {
        seeds,
        defect: Some(defect),
        only,
        stop_at_first: true,
        ..FaultOptions::default()
    });
    let first = report.violations.into_iter().next()?;
    eprintln!("{defect:?}: {} at seed {}: {}", first.invariant, first.seed, first.detail);
    Some(first)
}
