//! Saying no in time.

use expect_test::expect;

use crate::script::check;

#[test]
fn above_half_the_capacity_submitters_are_asked_to_slow_down() {
    check(
        "
        config jobs_max=10
        submit a b c d e
        submit f
        ",
        expect![[r#"
            configure v1
            throttled: 60% full, pause 5.0 s
        "#]],
    );
}

#[test]
fn above_the_threshold_submissions_are_refused_until_jobs_end() {
    check(
        "
        config jobs_max=4
        worker w1
        submit a b c
        submit d
        complete a; submit d
        ",
        expect![[r#"
            configure v1
            throttled: 75% full, pause 10.0 ms | assign a w1
            refused: the queue is full (3 of 4 jobs); retry in 10.0 ms or raise jobs_max
            complete a w1 | assign b w1 | throttled: 75% full, pause 10.0 ms
        "#]],
    );
}

#[test]
fn payload_bytes_are_bounded_too() {
    check(
        "
        config payload_bytes_max=600 payload_bytes_total_max=1000
        submit a payload_bytes=500
        submit b payload_bytes=500
        cancel a; submit b payload_bytes=500
        ",
        expect![[r#"
            configure v1
            refused: the queue is full (500 of 1000 payload bytes); retry in 5.0 s or raise payload_bytes_total_max
            cancel a: on request
        "#]],
    );
}

#[test]
fn a_run_is_refused_whole() {
    check(
        "
        config jobs_max=4
        run r: a, b after=a, c after=b, d after=c
        run r: a, b after=a, c after=b
        ",
        expect![[r#"
            configure v1
            refused: the run has 4 jobs; at most 3 are allowed, so split it
            throttled: 75% full, pause 5.0 s
        "#]],
    );
}

#[test]
fn how_long_to_wait_follows_the_rate_at_which_jobs_end() {
    check(
        "
        config jobs_max=4
        worker w1; submit a b c
        wait 4s; complete a; wait 4s; complete b
        submit d e; submit f
        ",
        expect![[r#"
            configure v1
            throttled: 75% full, pause 10.0 ms | assign a w1
            complete a w1 | assign b w1
            complete b w1 | assign c w1
            throttled: 75% full, pause 1.0 s | refused: the queue is full (3 of 4 jobs); retry in 500.0 ms or raise jobs_max
        "#]],
    );
}

#[test]
fn a_known_job_is_answered_even_when_the_queue_is_full() {
    check(
        "
        config jobs_max=2
        submit a key=k
        submit b
        submit again key=k
        ",
        expect![[r#"
            configure v1
            refused: the queue is full (1 of 2 jobs); retry in 5.0 s or raise jobs_max
            known: a
        "#]],
    );
}
