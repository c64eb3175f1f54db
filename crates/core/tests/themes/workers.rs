//! Workers that come, go silent, come back and leave.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_silent_worker_is_lost_after_30_seconds() {
    check(
        "
        worker w1; worker w2; submit a; ack a
        silence w1; wait 29s
        state a
        wait 2s
        ",
        expect![[r#"
            assign a w1 | start a w1
            a running on w1, failures 0, crashes 0, returns 0
            [30.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1 | assign a w2
        "#]],
    );
}

#[test]
fn any_report_is_a_sign_of_life() {
    check(
        "
        worker w1; silence w1; submit a timeout=200s; ack a
        wait 25s; progress a
        wait 25s; progress a
        wait 20s; state a
        ",
        expect![[r#"
            assign a w1 | start a w1
            progress a 500
            progress a 500
            a running on w1, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn offers_of_a_lost_worker_go_elsewhere_without_a_count() {
    check(
        "
        worker w1; submit a guarantee=exactly_once
        silence w1; wait 31s; state a
        worker w2
        ",
        expect![[r#"
            assign a w1
            [30.0 s] attempt a w1 Undelivered: the worker was not heard of in time | requeue a in 0 us | lost w1
            a ready, failures 0, crashes 0, returns 1
            assign a w2
        "#]],
    );
}

#[test]
fn a_lost_worker_comes_back_by_registering() {
    check(
        "
        worker w1; submit a; ack a
        silence w1; wait 31s
        beat w1
        reconnect w1 holding=a
        state a
        ",
        expect![[r#"
            assign a w1 | start a w1
            [30.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1
            refused: worker w1 is not registered; register first
            drop a | return w1 | assign a w1
            a offered on w1, failures 0, crashes 1, returns 0
        "#]],
    );
}

#[test]
fn a_stalled_job_is_taken_away_from_a_worker_that_lives() {
    check(
        "
        worker w1; worker w2; submit a timeout=300s; ack a; progress a
        wait 31s; effects
        wait 1s
        ",
        expect![[r#"
            assign a w1 | start a w1 | progress a 500
            [30.0 s] attempt a w1 Stalled: no progress for 30.0 s | requeue a in 764.5 ms
            [30.7 s] due a | assign a w2
            offer a w1 number 1 | revoke a w1 GivenUp | offer a w2 number 2
            [31.2 s] hedge a w1
        "#]],
    );
}

#[test]
fn a_worker_that_leaves_gives_back_what_it_holds() {
    check(
        "
        worker w1 slots=2; submit a; submit b; ack a
        leave w1; leave w1
        state a; state b
        worker w2 slots=2
        ",
        expect![[r#"
            assign a w1 | assign b w1 | start a w1
            attempt a w1 WorkerLost: the worker left | requeue a in 0 us | attempt b w1 Undelivered: the worker left | requeue b in 0 us | left w1
            a ready, failures 0, crashes 1, returns 0 | b ready, failures 0, crashes 0, returns 1
            assign a w2 | assign b w2
        "#]],
    );
}

#[test]
fn running_jobs_survive_a_restart_of_the_scheduler() {
    let with = |restart: &str| {
        format!(
            "
            worker w1 slots=2; submit a; submit b; ack a
            {restart}
            reconnect w1 holding=a+b
            wait 5s; ack b
            complete a; complete b
            "
        )
    };
    check(
        &with("restart"),
        expect![[r#"
        assign a w1 | assign b w1 | start a w1
        start b w1
        complete a w1 | complete b w1
    "#]],
    );
    check(
        &with("restart snapshot"),
        expect![[r#"
        assign a w1 | assign b w1 | start a w1
        start b w1
        complete a w1 | complete b w1
    "#]],
    );
}

#[test]
fn after_a_restart_every_worker_has_a_full_term() {
    check(
        "
        worker w1; submit a timeout=1h; ack a; silence w1; wait 29s
        restart
        wait 29s; state a
        wait 2s
        ",
        expect![[r#"
            assign a w1 | start a w1
            extend terms by 29.0 s
            a running on w1, failures 0, crashes 0, returns 0
            [59.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1
        "#]],
    );
}

#[test]
fn what_a_worker_did_not_bring_back_is_placed_anew() {
    check(
        "
        worker w1 slots=2; submit a; submit b; ack a
        restart
        reconnect w1 holding=a
        ",
        expect![[r#"
            assign a w1 | assign b w1 | start a w1
            attempt b w1 Undelivered: the worker came back without it | requeue b in 0 us | assign b w1
        "#]],
    );
}

#[test]
fn what_a_worker_should_not_have_it_must_drop() {
    check(
        "
        worker w1; worker w2; submit a; ack a
        silence w1; wait 31s
        ack a; complete a
        reconnect w1 holding=a
        ",
        expect![[r#"
            assign a w1 | start a w1
            [30.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1 | assign a w2
            start a w2 | complete a w2
            drop a | return w1
        "#]],
    );
}

#[test]
fn a_new_process_has_lost_what_the_old_one_held() {
    check(
        "
        worker w1; submit a; ack a
        reconnect w1 new holding=a; state a
        ",
        expect![[r#"
            assign a w1 | start a w1
            drop a | attempt a w1 WorkerLost: the worker was restarted | requeue a in 0 us | assign a w1 | a offered on w1, failures 0, crashes 1, returns 0
        "#]],
    );
}

#[test]
fn a_worker_may_change_its_slots_while_it_holds_nothing() {
    check(
        "
        worker w1; submit a; submit b
        complete a; complete b
        reconnect w1 slots=2
        submit c; submit d
        ",
        expect![[r#"
            assign a w1
            complete a w1 | assign b w1 | complete b w1
            assign c w1 | assign d w1
        "#]],
    );
}

#[test]
fn heartbeats_are_events_only_where_they_change_something() {
    check(
        "
        worker w1
        beat w1 load=10; beat w1 load=30; beat w1 load=80; beat w1 load=90; beat w1 load=90 queue=1
        wait 16s
        ",
        expect![[r#"
            report w1 load=80 queue=0 | report w1 load=90 queue=1
        "#]],
    );
}

#[test]
fn a_worker_that_is_gone_for_long_is_forgotten() {
    check(
        "
        config forget_workers_after=60s
        worker w1; worker w2; leave w1
        wait 50s; submit a receiver=w1; why a
        wait 20s; submit b; why a
        drain w1
        worker w1
        ",
        expect![[r#"
            configure v1
            left w1
            job a waits because w1 is unreachable
            assign b w2 | job a may run on worker w1 alone, which is not registered
            refused: worker w1 is not registered; register first
            assign a w1
        "#]],
    );
}
