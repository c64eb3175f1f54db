//! The type decides where a job goes, and a failure that it goes elsewhere next.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_job_goes_to_a_worker_that_handles_its_type_and_waits_for_one() {
    check(
        "
        worker w1 types=exec; worker w2 types=echo+resize
        submit a type=resize; submit b type=exec; submit c type=train; why c
        worker w3 types=train
        ",
        expect![[r#"
            assign a w2 | assign b w1 | no present worker can run job c: of 2, worker w1 comes nearest, but it has no handler for the type train
            assign c w3
        "#]],
    );
}

#[test]
fn what_stands_behind_a_slash_tells_jobs_apart_not_handlers() {
    check(
        "
        worker w1 types=exec slots=2
        submit a type=exec/make; submit b type=executor; why b
        ",
        expect![[r#"
            assign a w1 | no present worker can run job b: worker w1 falls short, it has no handler for the type executor
        "#]],
    );
}

#[test]
fn a_worker_without_a_handler_costs_no_retry_and_is_not_asked_again() {
    check(
        "
        worker w1
        submit a type=resize retry=0; fail a cause=no_handler; why a
        submit b type=resize; submit c type=exec
        restart snapshot
        worker w2
        fail a cause=no_handler by=w2; why a
        worker w3
        ",
        expect![[r#"
            assign a w1 | attempt a w1 NoHandler: boom | requeue a in 0 us | no present worker can run job a: worker w1 falls short, it has no handler for the type resize
            assign c w1
            assign a w2
            attempt a w2 NoHandler: boom | requeue a in 0 us | no present worker can run job a: of 2, worker w1 comes nearest, but it has no handler for the type resize
            assign a w3
        "#]],
    );
}

#[test]
fn a_new_process_of_the_worker_is_asked_again() {
    check(
        "
        worker w1; submit a type=resize; fail a cause=no_handler
        worker w1 instance=2
        ",
        expect![[r#"
            assign a w1 | attempt a w1 NoHandler: boom | requeue a in 0 us
            assign a w1
        "#]],
    );
}

#[test]
fn at_most_once_is_not_used_up_where_there_is_no_handler() {
    check(
        "
        worker w1; submit a type=resize guarantee=at_most_once; fail a cause=no_handler
        worker w2
        ",
        expect![[r#"
            assign a w1 | attempt a w1 NoHandler: boom | requeue a in 0 us
            assign a w2
        "#]],
    );
}

#[test]
fn a_retry_goes_elsewhere_if_it_can() {
    check(
        "
        config retry_base=1s
        worker w1 slots=2; worker w2 slots=2
        submit a; ack a; fail a; wait 1s; decision a
        ack a; drain w1; fail a; wait 2s; decision a
        ",
        expect![[r#"
            assign a w1 | start a w1 | attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w2
            w2 by predictive: not where it failed; score 900000, wait 0 us, duration 5.0 s
            start a w2 | drain w1 | attempt a w2 Failed: boom | requeue a in 1.7 s
            [2.7 s] due a | assign a w2
            w2 by predictive: only worker; score 900000, wait 0 us, duration 5.0 s
        "#]],
    );
}

#[test]
fn a_retry_by_turns_goes_elsewhere_too() {
    check(
        "
        config retry_base=1s strategy=round_robin
        worker w1 slots=2; worker w2 slots=2
        submit a; ack a; submit b; ack b; fail a; wait 1s; decision a
        ",
        expect![[r#"
            configure v1
            assign a w1 | start a w1 | assign b w2 | start b w2 | attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w2
            w2 by round_robin: not where it failed; score 700000, wait 0 us, duration 5.0 s
        "#]],
    );
}
