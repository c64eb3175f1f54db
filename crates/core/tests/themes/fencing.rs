//! Every report carries its attempt's token; one that was taken away is refused.

use expect_test::expect;

use crate::script::check;

/// The first worker has been lost with the job, which now runs on the second.
const LOST: &str = "
    worker w1; worker w2; submit a; ack a
    silence w1; wait 31s
";

#[test]
fn every_kind_of_report_of_a_lost_attempt_is_refused() {
    check(
        &format!(
            "{LOST}
            ack a nth=1
            claim a nth=1
            progress a nth=1
            complete a nth=1
            fail a nth=1
            fail a nth=1 permanently
            return a nth=1
            state a
            "
        ),
        expect![[r#"
            assign a w1 | start a w1
            [30.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1 | assign a w2
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            a offered on w2, failures 0, crashes 1, returns 0
        "#]],
    );
}

#[test]
fn the_right_token_in_the_wrong_hands_is_refused() {
    check(
        "
        worker w1; worker w2; submit a
        ack a as=w2
        complete a as=w2
        complete a as=nobody
        complete a
        ",
        expect![[r#"
            assign a w1
            refused: worker w2 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker w2 does not hold job 1 with token 4; the attempt was taken away, drop it
            refused: worker nobody is not registered; register first
            complete a w1
        "#]],
    );
}

#[test]
fn reports_on_a_forgotten_job_are_refused() {
    check(
        "
        config retain_jobs=0
        worker w1; submit a; complete a; complete a
        ",
        expect![[r#"
            configure v1
            assign a w1 | complete a w1 | refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
        "#]],
    );
}

#[test]
fn a_late_result_of_a_lost_worker_is_refused_while_another_runs() {
    check(
        &format!("{LOST}\n complete a nth=1\n complete a"),
        expect![[r#"
        assign a w1 | start a w1
        [30.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1 | assign a w2
        refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
        complete a w2
    "#]],
    );
}

#[test]
fn a_retried_job_has_a_new_token_on_the_same_worker() {
    check(
        "
        worker w1; submit a; ack a; fail a; wait 1s
        complete a nth=1
        complete a nth=2
        ",
        expect![[r#"
            assign a w1 | start a w1 | attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            refused: worker w1 does not hold job 1 with token 3; the attempt was taken away, drop it
            complete a w1
        "#]],
    );
}

#[test]
fn tokens_grow_across_restarts() {
    check(
        "
        worker w1; submit a; ack a; fail a
        restart; wait 1s
        complete a nth=1
        restart snapshot; complete a nth=1
        complete a
        ",
        expect![[r#"
            assign a w1 | start a w1 | attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            refused: worker w1 does not hold job 1 with token 3; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 3; the attempt was taken away, drop it
            complete a w1
        "#]],
    );
}

#[test]
fn a_worker_cannot_speak_for_the_supervisor() {
    check(
        "
        worker w1 slots=4; submit a b c d
        fail a cause=worker_lost; fail b cause=timed_out; fail c cause=stalled
        ack d; fail d cause=undelivered
        ",
        expect![[r#"
            assign a w1 | assign b w1 | assign c w1 | assign d w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms | attempt b w1 Failed: boom | requeue b in 547.8 ms | attempt c w1 Failed: boom | requeue c in 552.8 ms
            start d w1 | attempt d w1 Failed: boom | requeue d in 516.4 ms
        "#]],
    );
}
