//! A second offer when the first worker is quiet.

use expect_test::expect;

use crate::script::check;

#[test]
fn an_offer_not_acknowledged_goes_to_a_second_worker() {
    check(
        "
        worker w1; worker w2; submit a
        wait 499ms; state a
        wait 2ms; decision a; effects
        ",
        expect![[r#"
            assign a w1
            a offered on w1, failures 0, crashes 0, returns 0
            [500.0 ms] hedge a w2
            w2 by predictive: hedge; score 900000, wait 0 us, duration 5.0 s | offer a w1 number 1 | offer a w2 number 1
        "#]],
    );
}

#[test]
fn the_first_acknowledgement_wins_and_the_other_is_revoked() {
    check(
        "
        worker w1; worker w2; submit a; wait 1s
        ack a by=w2
        ack a by=w1
        complete a by=w2; effects
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] hedge a w2
            revoke a w1 HedgeLost | start a w2
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            complete a w2 | offer a w1 number 1 | offer a w2 number 1 | revoke a w1 HedgeLost | ended a
        "#]],
    );
}

#[test]
fn a_result_wins_even_without_an_acknowledgement() {
    check(
        "
        worker w1; worker w2; submit a; wait 1s
        complete a by=w1
        complete a by=w2
        complete a by=w2 result=other
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] hedge a w2
            revoke a w2 HedgeLost | complete a w1
            already completed
            refused: worker w2 does not hold job 1 with token 5; the attempt was taken away, drop it
        "#]],
    );
}

#[test]
fn if_one_fails_the_other_goes_on() {
    check(
        "
        worker w1; worker w2; submit a retry=0; wait 1s
        fail a by=w1; state a
        complete a by=w2
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] hedge a w2
            attempt a w1 Failed: boom | a offered on w2, failures 1, crashes 0, returns 0
            complete a w2
        "#]],
    );
}

#[test]
fn if_no_attempt_can_help_both_are_given_up() {
    check(
        "
        worker w1; worker w2; submit a; wait 1s
        fail a by=w1 permanently; effects
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] hedge a w2
            attempt a w1 Permanent: boom | revoke a w2 GivenUp | fail a Permanent | offer a w1 number 1 | offer a w2 number 1 | revoke a w2 GivenUp | ended a
        "#]],
    );
}

#[test]
fn when_both_are_quiet_the_job_goes_to_a_third() {
    check(
        "
        worker w1; worker w2; worker w3; submit a
        wait 2s; state a; effects
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] hedge a w2
            [1.0 s] attempt a w1 Undelivered: the offer was not acknowledged in time | attempt a w2 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w3
            [1.5 s] hedge a w1
            a offered on w3+w1, failures 0, crashes 0, returns 2 | offer a w1 number 1 | offer a w2 number 1 | revoke a w1 GivenUp | revoke a w2 GivenUp | offer a w3 number 2 | offer a w1 number 2
        "#]],
    );
}

#[test]
fn without_a_second_worker_the_first_has_until_it_is_unreachable() {
    check(
        "
        worker w1; submit a
        wait 29s; state a
        wait 2s
        ",
        expect![[r#"
            assign a w1
            a offered on w1, failures 0, crashes 0, returns 0
            [30.0 s] attempt a w1 Undelivered: the offer was not acknowledged | requeue a in 0 us | assign a w1
            [31.0 s] silent w1
        "#]],
    );
}

#[test]
fn past_the_budget_an_offer_is_moved_and_not_doubled() {
    check(
        "
        worker w1 slots=4; worker w2 slots=4; worker w3 slots=4
        submit a; submit b; submit c; submit d
        wait 400ms; ack b; ack d
        wait 200ms; state a; state c; effects
        ",
        expect![[r#"
            assign a w1 | assign b w2 | assign c w3 | assign d w1
            start b w2 | start d w1
            [500.0 ms] hedge a w2
            [500.0 ms] hedge c w1
            a offered on w1+w2, failures 0, crashes 0, returns 0 | c offered on w3+w1, failures 0, crashes 0, returns 0 | offer a w1 number 1 | offer b w2 number 1 | offer c w3 number 1 | offer d w1 number 1 | offer a w2 number 1 | offer c w1 number 1
        "#]],
    );
    check(
        "
        config hedge_budget_permille=0
        worker w1; worker w2; submit a; wait 600ms; state a; effects
        ",
        expect![[r#"
            configure v1
            assign a w1
            [500.0 ms] attempt a w1 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w2
            a offered on w2, failures 0, crashes 0, returns 1 | offer a w1 number 1 | revoke a w1 GivenUp | offer a w2 number 2
        "#]],
    );
}

#[test]
fn a_worker_that_misses_two_is_given_nothing_until_it_speaks() {
    check(
        "
        worker w1 slots=2; worker w2 slots=8
        submit a receiver=w1; submit b receiver=w1; wait 1s
        submit c receiver=w1; state c; why c
        wait 10s; state c
        ack a by=w1; wait 1ms
        complete a by=w1; complete b by=w1
        ",
        expect![[r#"
            assign a w1 | assign b w1
            [500.0 ms] silent w1
            c ready, failures 0, crashes 0, returns 0 | job c waits because w1 is silent (the last offers were not answered)
            c ready, failures 0, crashes 0, returns 0
            start a w1
            [11.0 s] heard w1
            complete a w1 | assign c w1 | complete b w1
        "#]],
    );
}

#[test]
fn a_late_answer_is_refused_and_yet_heard() {
    check(
        "
        config hedge_budget_permille=0
        worker w1 slots=2; worker w2 slots=4
        submit a; submit b; submit c
        ack b; wait 600ms
        submit d receiver=w1; wait 600ms
        submit e receiver=w1
        ack a by=w1; wait 1ms
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w2 | assign c w2
            start b w2
            [500.0 ms] attempt a w1 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w2
            [500.0 ms] attempt c w2 Undelivered: the offer was not acknowledged in time | requeue c in 0 us | assign c w1
            assign d w1
            [1.1 s] silent w1
            refused: worker w1 does not hold job 1 with token 5; the attempt was taken away, drop it
            [1.2 s] heard w1
        "#]],
    );
}

#[test]
fn a_heartbeat_is_no_answer_but_counts_in_the_end() {
    check(
        "
        worker w1 slots=3
        submit a; submit b; wait 1s
        submit c; beat w1; wait 20s; beat w1; state c
        wait 12s; beat w1; wait 1ms
        ",
        expect![[r#"
            assign a w1 | assign b w1
            [500.0 ms] silent w1
            c ready, failures 0, crashes 0, returns 0
            [30.0 s] attempt a w1 Undelivered: the offer was not acknowledged | requeue a in 0 us
            [30.0 s] attempt b w1 Undelivered: the offer was not acknowledged | requeue b in 0 us
            [33.0 s] heard w1 | assign a w1 | assign b w1 | assign c w1
        "#]],
    );
}

#[test]
fn a_worker_that_speaks_of_others_or_is_full_misses_nothing() {
    check(
        "
        config prefetch=2 prefetch_horizon=10s
        worker w1 slots=1
        submit a; submit b; submit c; ack a; wait 5s
        submit d
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w1 | assign c w1 | start a w1
        "#]],
    );
}

#[test]
fn one_dispatch_is_one_whoever_is_silent() {
    check(
        "
        worker w1; worker w2; submit a guarantee=at_most_once; wait 20s; state a
        wait 11s; state a
        ",
        expect![[r#"
            assign a w1
            a offered on w1, failures 0, crashes 0, returns 0
            [30.0 s] attempt a w1 Undelivered: the offer was not acknowledged | fail a Undelivered
            a failed, failures 0, crashes 0, returns 1
        "#]],
    );
}

#[test]
fn a_claim_that_comes_too_late_is_refused() {
    check(
        "
        config hedge_budget_permille=0
        worker w1; worker w2; submit a guarantee=exactly_once; wait 600ms
        claim a by=w1
        claim a by=w2; complete a by=w2
        ",
        expect![[r#"
            configure v1
            assign a w1
            [500.0 ms] attempt a w1 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w2
            refused: worker w1 does not hold job 1 with token 5; the attempt was taken away, drop it
            grant a w2 | complete a w2
        "#]],
    );
}

#[test]
fn an_offer_is_moved_once_somebody_has_room() {
    check(
        "
        config hedge_budget_permille=0
        worker w1; worker w2; submit b; submit a; ack b; wait 3s; state a
        complete b; wait 1s; state a
        ",
        expect![[r#"
            configure v1
            assign b w1 | assign a w2 | start b w1
            a offered on w2, failures 0, crashes 0, returns 0
            complete b w1
            [3.5 s] attempt a w2 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w1
            a offered on w1, failures 0, crashes 0, returns 1
        "#]],
    );
}

#[test]
fn the_timeout_adapts_to_what_workers_of_a_type_need() {
    check(
        "
        worker w1; worker w2
        submit a; wait 10ms; ack a; complete a
        submit b; wait 10ms; ack b; complete b
        submit c; wait 10ms; ack c; complete c
        submit d; wait 10ms; ack d; complete d
        submit e; wait 10ms; ack e; complete e
        submit f; wait 100ms
        ",
        expect![[r#"
            assign a w1
            start a w1 | complete a w1
            assign b w2
            start b w2 | complete b w2
            assign c w1
            start c w1 | complete c w1
            assign d w2
            start d w2 | complete d w2
            assign e w1
            start e w1 | complete e w1
            assign f w2
            [100.0 ms] hedge f w1
        "#]],
    );
}

#[test]
fn a_running_job_is_not_hedged() {
    check(
        "worker w1; worker w2; submit a; ack a; wait 20s; state a",
        expect![[r#"
        assign a w1 | start a w1
        a running on w1, failures 0, crashes 0, returns 0
    "#]],
    );
}

#[test]
fn a_paused_type_is_not_hedged() {
    check(
        "worker w1; worker w2; submit a; pause t; wait 5s; state a",
        expect![[r#"
        assign a w1 | pause t
        a offered on w1, failures 0, crashes 0, returns 0
    "#]],
    );
}

#[test]
fn a_restart_hedges_no_one_in_haste() {
    check(
        "
        worker w1; worker w2; submit a
        restart
        wait 9s; state a
        wait 2s
        ",
        expect![[r#"
            assign a w1
            a offered on w1, failures 0, crashes 0, returns 0
            [10.0 s] hedge a w2
        "#]],
    );
}
