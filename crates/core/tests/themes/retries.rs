//! Retries, backoff, escalation and dead letters.

use expect_test::expect;

use crate::script::{World, check, run};

#[test]
fn backoff_doubles_and_its_jitter_is_the_same_every_time() {
    check(
        "
        worker w1; submit a retry=5
        fail a; wait 1s; fail a; wait 2s; fail a; wait 4s; fail a; wait 8s; fail a; wait 16s
        fail a; state a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 1.7 s
            [2.7 s] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 3.0 s
            [6.0 s] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 5.2 s
            [12.2 s] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 8.4 s
            [23.4 s] due a | assign a w1
            attempt a w1 Failed: boom | dead a RetriesUsedUp | a dead_lettered, failures 6, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn backoff_grows_as_it_is_configured() {
    let script = |backoff: &str| {
        format!(
            "config retry_backoff={backoff} retry_base=2s
            worker w1; submit a retry=5
            fail a; wait 20s; fail a; wait 20s; fail a"
        )
    };
    check(
        &script("linear"),
        expect![[r#"
        configure v1
        assign a w1
        attempt a w1 Failed: boom | requeue a in 1.1 s
        [1.1 s] due a | assign a w1
        attempt a w1 Failed: boom | requeue a in 3.0 s
        [23.0 s] due a | assign a w1
        attempt a w1 Failed: boom | requeue a in 3.2 s
    "#]],
    );
    check(
        &script("constant"),
        expect![[r#"
        configure v1
        assign a w1
        attempt a w1 Failed: boom | requeue a in 1.1 s
        [1.1 s] due a | assign a w1
        attempt a w1 Failed: boom | requeue a in 1.7 s
        [21.7 s] due a | assign a w1
        attempt a w1 Failed: boom | requeue a in 1.1 s
    "#]],
    );
}

#[test]
fn backoff_is_capped() {
    check(
        "
        config retry_base=10s retry_cap=15s
        worker w1; submit a
        fail a; wait 20s; fail a; wait 20s; fail a
        ",
        expect![[r#"
            configure v1
            assign a w1
            attempt a w1 Failed: boom | requeue a in 7.6 s
            [7.6 s] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 13.7 s
            [33.7 s] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 10.4 s
        "#]],
    );
}

#[test]
fn a_worker_may_say_when_to_come_back() {
    check(
        "
        worker w1; submit a
        fail a after=7s; wait 7s
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 7.0 s
            [7.0 s] due a | assign a w1
        "#]],
    );
}

#[test]
fn jobs_that_fail_together_come_back_apart() {
    check(
        "
        worker w1 slots=3; submit a; submit b; submit c
        fail a; fail b; fail c
        ",
        expect![[r#"
            assign a w1 | assign b w1 | assign c w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms | attempt b w1 Failed: boom | requeue b in 547.8 ms | attempt c w1 Failed: boom | requeue c in 552.8 ms
        "#]],
    );
}

#[test]
fn after_the_last_retry_the_job_is_a_dead_letter() {
    check(
        "
        worker w1; submit a retry=1
        fail a; wait 1s; fail a
        state a; effects
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            attempt a w1 Failed: boom | dead a RetriesUsedUp
            a dead_lettered, failures 2, crashes 0, returns 0 | offer a w1 number 1 | offer a w1 number 2 | ended a
        "#]],
    );
}

#[test]
fn escalation_gives_one_more_round_with_more_weight() {
    check(
        "
        worker w1; submit a retry=0 escalate=critical
        submit b priority=high
        fail a; complete a; complete b
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | escalate a critical | assign a w1 | complete a w1 | assign b w1 | complete b w1
        "#]],
    );
    check(
        "
        worker w1; submit a retry=0 escalate=critical
        fail a; fail a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | escalate a critical | assign a w1 | attempt a w1 Failed: boom | dead a RetriesUsedUp
        "#]],
    );
}

#[test]
fn escalation_to_a_role_goes_to_those_who_have_it() {
    check(
        "
        worker w1; worker w2 role=experts
        submit other receiver=w2
        submit a retry=0 escalate=high+role:experts
        fail a; why a; complete other; decision a
        ",
        expect![[r#"
            assign other w2
            assign a w1
            attempt a w1 Failed: boom | escalate a high role=experts | job a waits because the one worker that can run it is busy; it is next, expected to start in about 4.9 s | complete other w2 | assign a w2 | w2 by predictive: only worker; score 950000, wait 0 us, duration 3 us
        "#]],
    );
}

#[test]
fn a_permanent_failure_is_not_retried() {
    check(
        "
        worker w1; submit a retry=5
        fail a permanently error=no-such-file
        state a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Permanent: no-such-file | fail a Permanent
            a failed, failures 1, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn crashes_are_counted_apart_from_failures() {
    check(
        "
        worker w1; submit a retry=1
        ack a; fail a; wait 1s
        ack a; reconnect w1 new; state a
        ack a; complete a
        ",
        expect![[r#"
            assign a w1
            start a w1 | attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            start a w1 | attempt a w1 WorkerLost: the worker was restarted | requeue a in 0 us | assign a w1 | a offered on w1, failures 1, crashes 1, returns 0
            start a w1 | complete a w1
        "#]],
    );
}

#[test]
fn a_poison_job_is_buried_after_three_crashes() {
    check(
        "
        worker w1; submit a retry=5
        ack a; reconnect w1 new
        ack a; reconnect w1 new
        ack a; reconnect w1 new; state a
        ",
        expect![[r#"
            assign a w1
            start a w1 | attempt a w1 WorkerLost: the worker was restarted | requeue a in 0 us | assign a w1
            start a w1 | attempt a w1 WorkerLost: the worker was restarted | requeue a in 0 us | assign a w1
            start a w1 | attempt a w1 WorkerLost: the worker was restarted | dead a Poison | a dead_lettered, failures 0, crashes 3, returns 0
        "#]],
    );
}

#[test]
fn an_offer_that_never_arrived_counts_for_nothing() {
    check(
        "
        worker w1; submit a retry=0
        reconnect w1 new; reconnect w1 new
        reconnect w1 new; reconnect w1 new; state a
        complete a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Undelivered: the worker was restarted | requeue a in 0 us | assign a w1 | attempt a w1 Undelivered: the worker was restarted | requeue a in 0 us | assign a w1
            attempt a w1 Undelivered: the worker was restarted | requeue a in 0 us | assign a w1 | attempt a w1 Undelivered: the worker was restarted | requeue a in 0 us | assign a w1 | a offered on w1, failures 0, crashes 0, returns 4
            complete a w1
        "#]],
    );
}

#[test]
fn a_job_given_back_unstarted_counts_for_nothing() {
    check(
        "
        worker w1; submit a retry=0
        return a after=3s; wait 3s
        state a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Returned: boom | requeue a in 3.0 s
            [3.0 s] due a | assign a w1
            a offered on w1, failures 0, crashes 0, returns 1
        "#]],
    );
}

#[test]
fn a_job_that_is_always_given_back_ends_some_day() {
    let script = format!("worker w1\nsubmit a\n{}state a", "return a\n".repeat(1_000));
    let (world, output) = run(World::new(Default::default()), &script);
    let lines: Vec<&str> = output.lines().collect();
    expect![[r#"
        attempt a w1 Returned: boom | requeue a in 0 us | assign a w1
        attempt a w1 Returned: boom | dead a RetriesUsedUp
        a dead_lettered, failures 0, crashes 0, returns 1000"#]]
    .assert_eq(&lines[lines.len() - 3..].join("\n"));
    world.check_promises();
}

#[test]
fn a_retry_keeps_its_place_in_the_order() {
    check(
        "
        worker w1; submit a
        fail a; submit b; submit c
        wait 1s; complete b
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms | assign b w1
            [764.5 ms] due a
            complete b w1 | assign a w1
        "#]],
    );
}
