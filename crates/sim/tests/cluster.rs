//! Several schedulers keep their promises under seeded faults, and a seed always means the same run.

use bellwether_sim::faults::{FaultOptions, FaultReport, Schedulers, run_many};

const SEEDS: u64 = 100;

fn run(seeds: u64, threads: usize) -> FaultReport {
    let schedulers = Schedulers::Several;
    run_many(&FaultOptions { schedulers, seeds, threads, ..FaultOptions::default() })
}

#[test]
fn no_seed_breaks_a_promise_and_every_kind_of_fault_strikes() {
    let report = run(SEEDS, 0);
    assert_eq!(report.seeds, SEEDS);
    assert_eq!(report.violations, []);
    let missing: Vec<&str> =
        KINDS.into_iter().filter(|kind| !report.faults.contains_key(kind)).collect();
    assert!(missing.is_empty(), "never struck: {missing:?}");
}

#[test]
fn the_same_seeds_give_the_same_report_on_any_number_of_threads() {
    assert_eq!(run(8, 1), run(8, 3));
}

const KINDS: [&str; 25] = [
    "append_outcome_unknown",
    "disk_lost",
    "disk_slow",
    "follows_as_it_is",
    "follows_rebuilt",
    "leadership_transferred",
    "log_compacted",
    "member_added",
    "member_died_after_vote",
    "member_killed",
    "member_removed",
    "member_stopped",
    "members_changed",
    "older_leader_passed_over",
    "partition_bridged",
    "partition_full",
    "partition_one_way",
    "peer_message_cut_off",
    "peer_message_late",
    "peer_message_lost",
    "power_failed",
    "reign_began",
    "reign_ended",
    "state_sent",
    "told_unknown",
];
