//! The scheduler keeps its promises under seeded faults, and a seed always means the same run.

use bellwether_sim::faults::{FaultOptions, run_many};

#[test]
fn no_seed_breaks_a_promise() {
    let report = run_many(&FaultOptions { seeds: 200, ..FaultOptions::default() });
    assert_eq!(report.seeds, 200);
    assert_eq!(report.violations, []);
}

#[test]
fn the_same_seeds_give_the_same_report_on_any_number_of_threads() {
    let on = |threads| run_many(&FaultOptions { seeds: 20, threads, ..FaultOptions::default() });
    assert_eq!(on(1), on(3));
}

#[test]
fn every_kind_of_fault_strikes() {
    let report = run_many(&FaultOptions { seeds: 120, ..FaultOptions::default() });
    let missing: Vec<&str> =
        KINDS.into_iter().filter(|kind| !report.faults.contains_key(kind)).collect();
    assert!(missing.is_empty(), "never struck: {missing:?}");
}

const KINDS: [&str; 50] = [
    "no_handler",
    "append_failed",
    "append_failed_after_writing",
    "append_misplaced",
    "append_outcome_unknown",
    "append_torn",
    "batches_in_flight",
    "batches_joined",
    "cancel_in_flight",
    "clock_step_noticed",
    "clock_stepped_backwards",
    "clock_stepped_forwards",
    "config_changed",
    "connection_broken",
    "crash_after_append",
    "crash_after_durable",
    "crash_after_handle",
    "crash_after_take_batch",
    "crash_while_recovering",
    "crash_while_releasing",
    "disk_full",
    "disk_has_room",
    "drain_in_flight",
    "fenced",
    "late_round",
    "message_cut_off",
    "message_deferred",
    "message_duplicated",
    "message_late",
    "message_lost",
    "message_reordered",
    "predictor_failed",
    "rebuilt_in_place",
    "registration_outdated",
    "report_forged",
    "scheduler_stopped",
    "scheduler_stopped_past_leases",
    "submission_flood",
    "submitted_again",
    "submitted_again_renamed",
    "takeover",
    "told_unknown",
    "type_paused",
    "worker_cut_off",
    "worker_gray",
    "worker_killed_after_effect",
    "worker_killed_before_effect",
    "worker_killed_by_poison",
    "worker_mute",
    "worker_paused",
];
