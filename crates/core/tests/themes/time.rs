//! Time in which nobody listened counts against nobody, and the wall clock moves only the moments
//! that it was asked for.

use expect_test::expect;

use crate::script::{check, check_with};

#[test]
fn after_an_absence_every_worker_has_a_full_term_and_attempts_lose_nothing() {
    check(
        "
        worker w1 slots=2; submit a timeout=40s; ack a; submit b timeout=1h; ack b; progress b
        wait 20s; silence w1
        away 60s
        wait 15s; state a; state b
        wait 60s
        ",
        expect![[r#"
            assign a w1 | start a w1 | assign b w1 | start b w1 | progress b 500
            extend terms by 60.0 s
            [90.0 s] attempt b w1 Stalled: no progress for 30.0 s | requeue b in 547.8 ms
            [90.5 s] due b | assign b w1
            a running on w1, failures 0, crashes 0, returns 0 | b offered on w1, failures 1, crashes 0, returns 0
            [100.0 s] attempt a w1 TimedOut: ran longer than 40.0 s | requeue a in 764.5 ms
            [100.7 s] due a | assign a w1
            [101.2 s] silent w1
            [110.0 s] attempt a w1 Undelivered: the worker was not heard of in time | requeue a in 0 us | attempt b w1 Undelivered: the worker was not heard of in time | requeue b in 0 us | lost w1
        "#]],
    );
}

#[test]
fn a_restart_is_an_absence_too() {
    check(
        "
        worker w1 slots=2; submit a timeout=40s; ack a
        wait 30s; away 3600s; restart; wait 9s; state a
        wait 2s
        ",
        expect![[r#"
            assign a w1 | start a w1
            extend terms by 3600.0 s
            a running on w1, failures 0, crashes 0, returns 0
            [3640.0 s] attempt a w1 TimedOut: ran longer than 40.0 s | requeue a in 764.5 ms
            [3640.7 s] due a | assign a w1
        "#]],
    );
}

#[test]
fn a_quiet_offer_is_not_hedged_before_those_who_may_have_answered_were_heard() {
    check_with(
        |config| config.hedge_budget_permille = 1_000,
        "
        worker w1; worker w2; submit a
        away 60s; wait 9s; state a; ack a; complete a
        ",
        expect![[r#"
            assign a w1
            extend terms by 60.0 s
            a offered on w1, failures 0, crashes 0, returns 0 | start a w1 | complete a w1
        "#]],
    );
}

#[test]
fn a_short_absence_leaves_no_trace() {
    check(
        "worker w1; submit a; ack a; away 2s; wait 1s; state a",
        expect![[r#"
        assign a w1 | start a w1
        a running on w1, failures 0, crashes 0, returns 0
    "#]],
    );
}

#[test]
fn an_absence_without_attempts_leaves_no_trace() {
    check(
        "worker w1; submit a; ack a; complete a; away 60s; wait 31s",
        expect![[r#"
        assign a w1 | start a w1 | complete a w1
    "#]],
    );
}

#[test]
fn a_moment_of_the_wall_clock_follows_it_and_a_span_does_not() {
    check(
        "
        submit moment not_before=3700s; submit span delay=100s; submit both delay=100s not_before=3800s
        submit first; submit waiting after=first not_before=3700s
        clock 3600
        state moment; state span; state both
        wait 99s
        wait 1s; state span; state both
        worker w1 slots=9; complete first
        submit late not_before=3750s; submit later not_before=3650s
        ",
        expect![[r#"
            wall clock +3600 s
            moment delayed for 99.9 s, failures 0, crashes 0, returns 0 | span delayed for 99.9 s, failures 0, crashes 0, returns 0 | both delayed for 3799.9 s, failures 0, crashes 0, returns 0
            [100.0 s] due moment
            [100.0 s] due span
            span ready, failures 0, crashes 0, returns 0 | both delayed for 3699.9 s, failures 0, crashes 0, returns 0
            assign moment w1 | assign span w1 | assign first w1 | complete first w1 | assign waiting w1
            assign later w1
        "#]],
    );
}

#[test]
fn a_wall_clock_that_is_set_back_is_waited_for() {
    check(
        "
        worker w1; clock -3600; submit moment not_before=10s; submit span delay=10s
        wait 20s; state moment
        restart snapshot; state moment
        clock 0; wait 1s
        ",
        expect![[r#"
            wall clock -3600 s
            [10.0 s] due span | assign span w1
            moment delayed for 3589.9 s, failures 0, crashes 0, returns 0
            extend terms by 10.0 s | moment delayed for 3589.9 s, failures 0, crashes 0, returns 0
            wall clock +0 s
            [20.0 s] due moment
        "#]],
    );
}

#[test]
fn a_backoff_is_a_span_also_of_a_job_that_waited_for_a_moment() {
    check_with(
        |config| config.retry_base = bellwether_core::model::Micros::from_secs(100),
        "
        worker w1; submit a not_before=1s; wait 2s; ack a; fail a
        clock 3600; wait 20s; state a
        ",
        expect![[r#"
            [1.0 s] due a | assign a w1
            start a w1 | attempt a w1 Failed: boom | requeue a in 80.8 s
            wall clock +3600 s
            a delayed for 60.8 s, failures 1, crashes 0, returns 0
        "#]],
    );
}
