//! When a worker can take more: its load, what waits there, and how old its last report is.

use expect_test::{Expect, expect};

use crate::script::{World, run};

#[track_caller]
fn check(script: &str, expected: Expect) {
    let (world, _) = run(World::new(Default::default()), script);
    let state = world.engine.state();
    let worker = state.worker_no("w1").and_then(|no| state.worker(no)).expect("w1 is there");
    let found = state.availability(worker, world.now);
    let free = found.estimated_available_at.since(world.now);
    let (load, depth) = (found.load_permille, found.queue_depth);
    expected.assert_eq(&format!("load {load}, {depth} ahead, available in {free}"));
}

#[test]
fn an_idle_worker_is_available_now() {
    check("worker w1", expect!["load 0, 0 ahead, available in 0 us"]);
}

#[test]
fn a_worker_with_a_free_slot_is_available_now() {
    check("worker w1 slots=2; submit a", expect!["load 500, 0 ahead, available in 0 us"]);
}

#[test]
fn a_full_worker_is_available_when_its_first_job_is_expected_to_end() {
    check(
        "config duration=long:60s; worker w1 slots=2; submit a; submit b type=long; wait 1s",
        expect!["load 1000, 0 ahead, available in 3.9 s"],
    );
}

#[test]
fn an_overdue_worker_may_be_available_any_moment() {
    check("worker w1; submit a; ack a; wait 20s", expect!["load 1000, 0 ahead, available in 0 us"]);
}

#[test]
fn what_waits_there_counts_with_its_average_duration() {
    check(
        "worker w1; submit a; beat w1 load=1000 queue=2",
        expect!["load 1000, 2 ahead, available in 14.9 s"],
    );
}

#[test]
fn an_old_report_counts_less() {
    check(
        "worker w1; beat w1 load=600 queue=4; silence w1; wait 15s",
        expect!["load 300, 2 ahead, available in 10.0 s"],
    );
}
