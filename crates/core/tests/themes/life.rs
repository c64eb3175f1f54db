//! Every transition of every job can be read from the journal, those that no event names too.

use bellwether_core::model::{Config, JobStatus};
use bellwether_core::{Engine, Entry};
use expect_test::{Expect, expect};

use crate::script::{World, hash, run};

fn journal(script: &str) -> World {
    let (world, _) = run(World::new(Config { prefetch: 0, ..Config::default() }), script);
    world.check_promises();
    world
}

/// The transitions of these jobs, a line for each entry that has some.
fn check(jobs: &[&str], script: &str, expected: Expect) {
    let world = journal(script);
    let told = |entry: &Entry| {
        let each = entry.transitions().filter_map(|transition| {
            let job = world.job_name(transition.job);
            let from = transition.from.map_or("?", JobStatus::as_str);
            let told = format!("{job}: {from} -> {}", transition.to.as_str());
            jobs.contains(&job.as_str()).then_some(told)
        });
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("{}: {}\n", entry.event.name(), each.join(", ")))
    };
    let lines: String = world.journal.iter().filter_map(told).collect();
    expected.assert_eq(&lines);
}

#[test]
fn the_end_of_the_last_dependency_makes_ready() {
    check(
        &["b"],
        "worker w1 slots=2
         submit a; submit x; submit b after=a+x
         ack a; complete a; ack x; complete x; ack b; complete b",
        expect![[r#"
            job_submitted: b: ? -> waiting
            job_completed: b: waiting -> ready
            task_assigned: b: ready -> offered
            job_started: b: offered -> running
            job_completed: b: ? -> completed
        "#]],
    );
}

#[test]
fn a_delay_counts_once_the_dependencies_have_ended() {
    check(
        &["b", "c"],
        "worker w1
         submit a; submit b after=a delay=1s; submit c after=a delay=10ms
         ack a; wait 100ms; complete a; wait 2s",
        expect![[r#"
            job_submitted: b: ? -> waiting
            job_submitted: c: ? -> waiting
            job_completed: b: waiting -> delayed, c: waiting -> ready
            task_assigned: c: ready -> offered
            job_due: b: delayed -> ready
        "#]],
    );
}

#[test]
fn what_starts_over_waits_for_what_starts_over_with_it() {
    check(
        &["a", "b", "c"],
        "worker w1
         submit a retry=0; submit b after=a; submit c after=b on_failure=run
         fail a permanently; ack c; complete c
         retry a; ack a; complete a",
        expect![[r#"
            job_submitted: a: ? -> ready
            task_assigned: a: ready -> offered
            job_submitted: b: ? -> waiting
            job_submitted: c: ? -> waiting
            job_failed: a: ? -> failed
            job_skipped: b: waiting -> skipped, c: waiting -> ready
            task_assigned: c: ready -> offered
            job_started: c: offered -> running
            job_completed: c: ? -> completed
            job_reopened: a: ? -> ready
            job_reopened: b: ? -> waiting
            task_assigned: a: ready -> offered
            job_started: a: offered -> running
            job_completed: a: ? -> completed, b: waiting -> ready
            task_assigned: b: ready -> offered
        "#]],
    );
}

#[test]
fn an_escalated_job_is_ready_at_once() {
    check(
        &["a"],
        "worker w1; submit a retry=0 escalate=critical; ack a; fail a; ack a; fail a",
        expect![[r#"
            job_submitted: a: ? -> ready
            task_assigned: a: ready -> offered
            job_started: a: offered -> running
            job_escalated: a: ? -> ready
            task_assigned: a: ready -> offered
            job_started: a: offered -> running
            job_dead_lettered: a: ? -> dead_lettered
        "#]],
    );
}

const CHAIN: &str = "worker w1; submit a; submit b after=a; ack a; complete a";

#[test]
fn a_forged_transition_is_told() {
    let mut journal = journal(CHAIN).journal;
    let moved = journal.iter_mut().flat_map(|entry| &mut entry.moved);
    moved.for_each(|moved| moved.to = JobStatus::Delayed);
    let mut engine = Engine::new(Config::default());
    let found: Vec<String> = journal
        .iter()
        .filter_map(|entry| engine.verify(entry).err())
        .map(|mismatch| mismatch.to_string())
        .collect();
    expect!["the event at 6 brought job 2 to delayed; recomputed: job 2 to ready"]
        .assert_eq(&found.join("\n"));
}

#[test]
fn a_journal_of_before_transitions_were_kept_is_replayed_and_verified() {
    let world = journal(CHAIN);
    let mut engine = Engine::new(world.engine.state().config().clone());
    for entry in &world.journal {
        let old = Entry { moved: Box::default(), ..entry.clone() };
        assert_eq!(engine.verify(&old), Ok(()));
    }
    assert_eq!(hash(&engine), hash(&world.engine));
}
