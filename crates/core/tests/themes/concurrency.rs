//! Keys: no more of a key at a time than its limit, and nobody else held up by it.

use expect_test::expect;

use crate::script::check;

#[test]
fn no_more_of_a_key_start_than_its_limit() {
    check(
        "
        config limits=gpu/2
        worker w1 slots=9
        submit a keys=gpu; submit b keys=gpu; submit c keys=gpu; submit d keys=gpu
        complete a; complete c; complete b; complete d
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w1
            complete a w1 | assign c w1 | complete c w1 | assign d w1 | complete b w1 | complete d w1
        "#]],
    );
}

#[test]
fn a_full_key_holds_up_nobody_else_of_the_class() {
    check(
        "
        config limits=customer:*/1
        worker w1 slots=2
        submit a1 keys=customer:a; submit a2 keys=customer:a; submit b1 keys=customer:b; submit plain
        complete b1; complete a1; state a2
        ",
        expect![[r#"
            configure v1
            assign a1 w1 | assign b1 w1
            complete b1 w1 | assign plain w1 | complete a1 w1 | assign a2 w1 | a2 offered on w1, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn a_job_has_a_limit_of_its_own_and_the_smaller_one_holds() {
    check(
        "
        worker w1 slots=9
        submit a keys=k/2; submit b keys=k/2; submit c keys=k/2
        config limits=k/1
        complete a; complete b; complete c
        ",
        expect![[r#"
            assign a w1 | assign b w1
            configure v1
            complete a w1 | complete b w1 | assign c w1 | complete c w1
        "#]],
    );
}

#[test]
fn weights_count_and_the_heavy_one_is_not_passed_by() {
    check(
        "
        config limits=k/4
        worker w1 slots=9
        submit a keys=k*3; submit heavy keys=k*4 type=u; submit light keys=k; submit later keys=k
        complete a; complete heavy
        ",
        expect![[r#"
            configure v1
            assign a w1
            complete a w1 | assign heavy w1 | complete heavy w1 | assign light w1 | assign later w1
        "#]],
    );
}

#[test]
fn what_is_heavier_than_the_limit_runs_alone() {
    check(
        "
        config limits=k/2
        worker w1 slots=9
        submit a keys=k; submit heavy keys=k*5; submit b keys=k
        complete a; complete heavy; complete b
        ",
        expect![[r#"
            configure v1
            assign a w1
            complete a w1 | assign heavy w1 | complete heavy w1 | assign b w1 | complete b w1
        "#]],
    );
}

#[test]
fn all_keys_of_a_job_must_have_room() {
    check(
        "
        config limits=customer:*/1+gpu/2
        worker w1 slots=9
        submit a1 keys=customer:a+gpu; submit a2 keys=customer:a+gpu; submit b1 keys=customer:b+gpu
        submit c1 keys=customer:c+gpu; submit d1 keys=customer:d
        complete b1; complete a1; complete c1; complete a2
        ",
        expect![[r#"
            configure v1
            assign a1 w1 | assign b1 w1
            assign d1 w1
            complete b1 w1 | assign c1 w1 | complete a1 w1 | assign a2 w1 | complete c1 w1 | complete a2 w1
        "#]],
    );
}

#[test]
fn a_type_that_nobody_runs_takes_no_place_of_its_key() {
    check(
        "
        config limits=k/1
        worker w1 types=t
        submit a keys=k type=other; submit b keys=k; submit c keys=k
        complete b; complete c
        worker w2 types=other
        ",
        expect![[r#"
            configure v1
            assign b w1
            complete b w1 | assign c w1 | complete c w1
            assign a w2
        "#]],
    );
}

#[test]
fn a_job_that_is_not_to_wait_is_skipped() {
    check(
        "
        config limits=k/2!skip
        worker w1
        run r: a keys=k, b keys=k, c keys=k, d keys=k after=a
        submit e keys=k; submit f keys=k!queue; why c
        complete a; state f; state d
        ",
        expect![[r#"
            configure v1
            skip c for k, held by a | assign a w1
            skip e for k, held by a | job c was skipped 2 us ago: its key k was at its limit, held by a
            complete a w1 | assign b w1 | f ready, failures 0, crashes 0, returns 0 | d ready, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn a_new_job_replaces_the_oldest_of_its_key() {
    check(
        "
        worker w1
        submit a keys=k/1!replace; ack a
        submit b keys=k/1!replace
        effects; submit c keys=other
        ",
        expect![[r#"
            assign a w1 | start a w1
            revoke a w1 Cancelled | cancel a: replaced by b, which has the key k too | assign b w1
            offer a w1 number 1 | revoke a w1 Cancelled | ended a | offer b w1 number 1
        "#]],
    );
}

#[test]
fn a_hedge_takes_as_much_of_the_key_again() {
    check(
        "
        config limits=k/1 hedge_budget_permille=1000 hedge_after=100ms
        worker w1 slots=1; worker w2
        submit a keys=k
        wait 3s
        ",
        expect![[r#"
            configure v1
            assign a w1
            [100.0 ms] attempt a w1 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w2
            [300.0 ms] attempt a w2 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w1
            [700.0 ms] silent w1 | attempt a w1 Undelivered: the offer was not acknowledged in time | requeue a in 0 us | assign a w2
            [1.5 s] silent w2
        "#]],
    );
}

#[test]
fn a_restart_knows_who_holds_a_key() {
    check(
        "
        config limits=k/1
        worker w1 slots=3
        submit a keys=k; submit b keys=k; ack a
        restart snapshot; reconnect w1 holding=a
        complete a; restart; reconnect w1 holding=b
        complete b
        ",
        expect![[r#"
            configure v1
            assign a w1 | start a w1
            complete a w1 | assign b w1
            complete b w1
        "#]],
    );
}

#[test]
fn a_failed_attempt_gives_its_key_to_the_next() {
    check(
        "
        config limits=k/1
        worker w1 slots=3
        submit a keys=k; submit b keys=k
        fail a; complete b; wait 2s
        ",
        expect![[r#"
            configure v1
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms | assign b w1 | complete b w1
            [764.5 ms] due a | assign a w1
        "#]],
    );
}

#[test]
fn other_limits_hold_at_once() {
    check(
        "
        config limits=k/0
        worker w1 slots=3
        submit a keys=k; submit b keys=k; submit c keys=k; why a
        config limits=k/2
        config limits=k/1
        complete a; complete b
        config limits=none
        ",
        expect![[r#"
            configure v1
            job a waits because its key k has the limit 0
            configure v2 | assign a w1 | assign b w1
            configure v3
            complete a w1 | complete b w1 | assign c w1
            configure v4
        "#]],
    );
}

#[test]
fn it_is_said_which_key_is_full_who_has_it_and_for_how_long() {
    check(
        "
        config limits=k/1+m/5 duration_default=4s
        worker w1 slots=9
        submit a keys=k; submit b keys=k; submit c keys=k; submit d keys=m*3; submit e keys=m*3
        ack a; wait 1s; --
        why b; why c; why e
        ",
        expect![[r#"
            job b waits because its key k is at its limit (1 of 1), held by a; it is next, expected to start in about 2.9 s | job c waits because its key k is at its limit (1 of 1), held by a; 1 job of the key goes first, expected to start in about 6.9 s | job e waits because its key m has too little left (3 of 5 taken), held by d; it is next, expected to start in about 2.9 s
        "#]],
    );
}

#[test]
fn who_is_pinned_or_cancelled_while_its_key_is_full_leaves_the_line() {
    check(
        "
        config limits=k/1
        worker w1; worker w2
        submit a keys=k; submit b keys=k; submit c keys=k; submit d keys=k
        pin c w2; cancel b; complete a; complete c
        ",
        expect![[r#"
            configure v1
            assign a w1
            pin c w2 | cancel b: on request | complete a w1 | assign c w2 | complete c w2 | assign d w2
        "#]],
    );
}
