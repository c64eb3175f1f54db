//! At most once, at least once, exactly once.

use expect_test::expect;

use crate::script::check;

#[test]
fn at_most_once_is_dispatched_once_whatever_happens() {
    check(
        "
        worker w1; worker w2
        submit a guarantee=at_most_once retry=3
        fail a
        submit b guarantee=at_most_once
        ack b; reconnect w2 new
        submit c guarantee=at_most_once timeout=1s
        ack c; wait 2s
        submit d guarantee=at_most_once; return d
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | fail a Failed
            assign b w2
            start b w2 | attempt b w2 WorkerLost: the worker was restarted | fail b WorkerLost
            assign c w1
            start c w1
            [1.0 s] attempt c w1 TimedOut: ran longer than 1.0 s | fail c TimedOut
            assign d w2 | attempt d w2 Returned: boom | fail d Returned
        "#]],
    );
}

#[test]
fn at_most_once_is_not_hedged() {
    check(
        "
        worker w1; worker w2
        submit a guarantee=at_most_once
        wait 31s
        ",
        expect![[r#"
            assign a w1
            [30.0 s] attempt a w1 Undelivered: the offer was not acknowledged | fail a Undelivered
        "#]],
    );
}

#[test]
fn an_offer_of_one_dispatch_that_was_lost_is_made_again_to_the_same_process() {
    check(
        "
        worker w1 slots=2; submit a guarantee=at_most_once; submit b; effects
        restart
        reconnect w1; effects
        state a; ack a; complete a
        ",
        expect![[r#"
            assign a w1 | assign b w1 | offer a w1 number 1 | offer b w1 number 1
            attempt b w1 Undelivered: the worker came back without it | requeue b in 0 us | assign b w1 | revoke b w1 GivenUp | offer b w1 number 2 | offer a w1 number 1
            a offered on w1, failures 0, crashes 0, returns 0 | start a w1 | complete a w1
        "#]],
    );
}

#[test]
fn one_dispatch_is_not_made_again_once_it_has_begun_or_to_another_process() {
    check(
        "
        worker w1 slots=2; submit a guarantee=at_most_once; submit b guarantee=at_most_once; ack a
        restart
        reconnect w1; effects
        worker w2; submit c guarantee=at_most_once; effects
        reconnect w2 new; effects
        ",
        expect![[r#"
            assign a w1 | assign b w1 | start a w1
            attempt a w1 WorkerLost: the worker came back without it | fail a WorkerLost | offer a w1 number 1 | offer b w1 number 1 | ended a | offer b w1 number 1
            assign c w2 | offer c w2 number 1
            attempt c w2 Undelivered: the worker was restarted | fail c Undelivered | revoke c w2 GivenUp | ended c
        "#]],
    );
}

#[test]
fn at_least_once_starts_with_its_acknowledgement() {
    check(
        "
        worker w1; submit a
        ack a; ack a; state a; complete a
        ",
        expect![[r#"
            assign a w1
            start a w1 | a running on w1, failures 0, crashes 0, returns 0 | complete a w1
        "#]],
    );
}

#[test]
fn at_least_once_may_complete_without_an_acknowledgement() {
    check(
        "
        worker w1; submit a; submit b
        complete a; progress b permille=10; complete b
        ",
        expect![[r#"
            assign a w1
            complete a w1 | assign b w1 | start b w1 | progress b 10 | complete b w1
        "#]],
    );
}

#[test]
fn exactly_once_is_claimed_and_granted_first() {
    check(
        "
        worker w1; submit a guarantee=exactly_once
        effects
        claim a; effects
        complete a; effects
        ",
        expect![[r#"
            assign a w1
            offer a w1 number 1
            grant a w1 | grant a w1
            complete a w1 | ended a
        "#]],
    );
}

#[test]
fn exactly_once_may_do_nothing_before_the_grant() {
    check(
        "
        worker w1; submit a guarantee=exactly_once
        ack a
        progress a
        complete a
        ",
        expect![[r#"
            assign a w1
            refused: job 1 is exactly_once: claim it and wait for the grant before you start
            refused: job 1 is exactly_once: claim it and wait for the grant before you start
            refused: job 1 is exactly_once: claim it and wait for the grant before you start
        "#]],
    );
}

#[test]
fn a_lost_grant_is_said_again() {
    check(
        "
        worker w1; submit a guarantee=exactly_once
        claim a; effects
        claim a; effects
        ",
        expect![[r#"
            assign a w1
            grant a w1 | offer a w1 number 1 | grant a w1
            grant a w1
        "#]],
    );
}

#[test]
fn a_second_result_is_acknowledged_if_it_is_the_same_and_refused_if_not() {
    check(
        "
        worker w1; submit a guarantee=exactly_once
        claim a; complete a result=42
        complete a result=42
        complete a result=43
        ",
        expect![[r#"
            assign a w1
            grant a w1 | complete a w1
            already completed
            refused: job 1 has a result with another hash already; this one is refused
        "#]],
    );
}

#[test]
fn a_late_result_of_another_attempt_is_held_against_the_committed_one() {
    check(
        "
        worker w1; worker w2; submit a guarantee=exactly_once
        claim a; silence w1; wait 31s
        claim a; complete a result=42
        complete a nth=1 result=42
        complete a nth=1 result=other
        ",
        expect![[r#"
            assign a w1
            grant a w1
            [30.0 s] attempt a w1 WorkerLost: the worker was not heard of in time | requeue a in 0 us | lost w1 | assign a w2
            grant a w2 | complete a w2
            already completed
            refused: job 1 has a result with another hash already; this one is refused
        "#]],
    );
}

#[test]
fn only_one_of_two_claims_is_granted() {
    check(
        "
        worker w1; worker w2
        submit a guarantee=exactly_once
        wait 1s
        claim a by=w2
        claim a by=w1
        complete a by=w2
        effects
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] hedge a w2
            revoke a w1 HedgeLost | grant a w2
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            complete a w2
            offer a w1 number 1 | offer a w2 number 1 | revoke a w1 HedgeLost | grant a w2 | ended a
        "#]],
    );
}

#[test]
fn at_least_once_takes_a_second_result_for_stale() {
    check(
        "
        worker w1; submit a
        complete a result=1
        complete a result=1
        complete a result=2
        ",
        expect![[r#"
            assign a w1
            complete a w1
            already completed
            refused: worker w1 does not hold job 1 with token 3; the attempt was taken away, drop it
        "#]],
    );
}

#[test]
fn an_unclaimed_offer_may_fail() {
    check(
        "
        worker w1; submit a guarantee=exactly_once
        fail a; wait 1s
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
        "#]],
    );
}
