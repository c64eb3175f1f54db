//! Known bugs among several schedulers, switched on one at a time: the simulator must catch each of
//! them, and by an invariant that it breaks; and there is no invariant that catches none. With
//! BELLWETHER_FULL=1 also those that show themselves seldom, and every invariant by itself.

use bellwether_cluster::member::Defect as MemberDefect;
use bellwether_host::Defect as HostDefect;
use bellwether_sim::cluster::{LogDefect, invariant_names, planted};
use bellwether_sim::faults::{Defect, FaultOptions, FoundViolation, Schedulers, run_many};

const SEEDS_MAX: u64 = 1_000;

/// Of one scheduler alone as well, and shown to be able to fail there.
const SHOWN_ELSEWHERE: [&str; 6] = [
    "one_key_one_job",
    "exactly_one_result",
    "at_most_one_dispatch",
    "dependencies_first",
    "terminal_is_absorbing",
    "terminal_after_heal",
];

fn is_full() -> bool {
    std::env::var("BELLWETHER_FULL").is_ok_and(|full| full == "1")
}

/// It takes more seeds than there is time for each time.
fn is_seldom(defect: Defect) -> bool {
    matches!(
        defect,
        Defect::Log(LogDefect::AppendAcknowledgedBeforeSync | LogDefect::TruncatesCommitted)
            | Defect::Member(MemberDefect::VotesAgainstItsPromise)
            | Defect::Host(HostDefect::LeaseIgnoresPause)
    )
}

#[test]
fn every_planted_bug_is_caught_by_an_invariant_that_it_breaks() {
    let mut wrong = Vec::new();
    for (defect, caught_by) in planted() {
        if is_seldom(defect) && !is_full() {
            continue;
        }
        match first_violation(defect, None) {
            Some(found) if caught_by.contains(&found.invariant) => {}
            found => wrong.push((defect, found.map(|found| (found.invariant, found.detail)))),
        }
    }
    assert!(wrong.is_empty(), "not caught, or by another invariant than it may be: {wrong:#?}");
}

#[test]
fn every_invariant_catches_a_planted_bug_by_itself() {
    if !is_full() {
        return;
    }
    let mut idle = Vec::new();
    for invariant in invariant_names() {
        if SHOWN_ELSEWHERE.contains(&invariant) {
            continue;
        }
        let breaking = planted().into_iter().filter(|(_, names)| names.contains(&invariant));
        let mut caught = breaking.map(|(defect, _)| first_violation(defect, Some(invariant)));
        if !caught.any(|found| found.is_some()) {
            idle.push(invariant);
        }
    }
    assert!(idle.is_empty(), "no planted bug shows these at work: {idle:?}");
}

/// With `only` this invariant watching.
fn first_violation(defect: Defect, only: Option<&'static str>) -> Option<FoundViolation> {
    let report = run_many(&FaultOptions {
        schedulers: Schedulers::Several,
        seeds: SEEDS_MAX,
        defect: Some(defect),
        only,
        stop_at_first: true,
        ..FaultOptions::default()
    });
    let first = report.violations.into_iter().next()?;
    eprintln!("{defect:?}: {} at seed {}: {}", first.invariant, first.seed, first.detail);
    Some(first)
}
