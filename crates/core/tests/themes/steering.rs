//! What operators do: cancel, retry, pin, pause, drain.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_waiting_job_is_cancelled_in_any_state() {
    check(
        "
        worker w1; submit a; submit ready; submit delayed delay=1h; submit waiting after=a
        cancel ready; cancel delayed; cancel waiting
        complete a; wait 2h
        ",
        expect![[r#"
            assign a w1
            cancel ready: on request | cancel delayed: on request | cancel waiting: on request
            complete a w1
        "#]],
    );
}

#[test]
fn a_running_job_is_taken_away_and_its_result_refused() {
    check(
        "
        worker w1; submit a; ack a
        cancel a; effects
        complete a
        state a
        ",
        expect![[r#"
            assign a w1 | start a w1
            revoke a w1 Cancelled | cancel a: on request | offer a w1 number 1 | revoke a w1 Cancelled | ended a
            refused: worker w1 does not hold job 1 with token 3; the attempt was taken away, drop it
            a cancelled, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn a_cancelled_job_frees_its_slot_at_once() {
    check(
        "
        worker w1; submit a; submit b; ack a
        cancel a
        ",
        expect![[r#"
            assign a w1 | start a w1
            revoke a w1 Cancelled | cancel a: on request | assign b w1
        "#]],
    );
}

#[test]
fn a_retry_by_hand_starts_over_with_fresh_counts() {
    check(
        "
        worker w1; submit a retry=1
        fail a; wait 2s; fail a; state a
        retry a; state a
        fail a; wait 2s; complete a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            attempt a w1 Failed: boom | dead a RetriesUsedUp | a dead_lettered, failures 2, crashes 0, returns 0
            reopen a | assign a w1 | a offered on w1, failures 0, crashes 0, returns 0
            attempt a w1 Failed: boom | requeue a in 764.5 ms
            [2.7 s] due a | assign a w1
            complete a w1
        "#]],
    );
}

#[test]
fn a_cancelled_job_can_be_run_after_all() {
    check(
        "
        worker w1; submit a; cancel a; retry a; complete a
        ",
        expect![[r#"
            assign a w1 | revoke a w1 Cancelled | cancel a: on request | reopen a | assign a w1 | complete a w1
        "#]],
    );
}

#[test]
fn a_pinned_job_waits_for_its_worker() {
    check(
        "
        worker w1; worker w2; submit a; submit b; submit c
        pin c w2
        complete a; state c; complete b
        ",
        expect![[r#"
            assign a w1 | assign b w2
            pin c w2
            complete a w1 | c ready, failures 0, crashes 0, returns 0 | complete b w2 | assign c w2
        "#]],
    );
}

#[test]
fn a_pin_overrides_role_and_receiver_but_not_what_the_job_needs() {
    check(
        "
        worker w1; worker w2; worker w3 cap=gpu
        submit a role=absent; pin a w1
        submit b receiver=absent; pin b w2
        submit c role=absent cap=gpu; pin c w2; complete b; why c
        pin c w3
        ",
        expect![[r#"
            pin a w1 | assign a w1
            pin b w2 | assign b w2
            pin c w2 | complete b w2 | no present worker can run job c: worker w2 falls short, it lacks the capability gpu
            pin c w3 | assign c w3
        "#]],
    );
}

#[test]
fn a_delayed_or_waiting_job_can_be_pinned_too() {
    check(
        "
        worker w1; worker w2; submit a
        submit b after=a; pin b w2
        submit c delay=2s; pin c w1
        complete a; complete b; wait 3s
        ",
        expect![[r#"
            assign a w1
            pin b w2
            pin c w1
            complete a w1 | assign b w2 | complete b w2
            [2.0 s] due c | assign c w1
        "#]],
    );
}

#[test]
fn jobs_of_a_paused_type_stay_in_the_queue() {
    check(
        "
        worker w1 slots=2
        pause t; submit a; submit b type=other
        wait 10s
        unpause t
        ",
        expect![[r#"
            pause t | assign b w1
            unpause t | assign a w1
        "#]],
    );
}

#[test]
fn a_pause_does_not_touch_what_is_placed() {
    check(
        "
        worker w1; submit a; submit b; ack a
        pause t; pause t
        complete a; state b
        ",
        expect![[r#"
            assign a w1 | start a w1
            pause t
            complete a w1 | b ready, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn room_that_came_while_a_type_was_paused_is_used_afterwards() {
    check(
        "
        worker w1 role=r; worker w2
        submit a role=r; submit b role=r
        pause t; complete a; wait 1s
        unpause t
        ",
        expect![[r#"
            assign a w1
            pause t | complete a w1
            unpause t | assign b w1
        "#]],
    );
}

#[test]
fn a_drained_worker_finishes_what_it_has_and_takes_no_more() {
    check(
        "
        worker w1; submit a; submit b; ack a
        drain w1; drain w1; effects
        complete a; why b
        undrain w1; undrain w1
        ",
        expect![[r#"
            assign a w1 | start a w1
            drain w1 | offer a w1 number 1 | drain w1
            complete a w1 | job b waits because w1 is draining
            undrain w1 | assign b w1
        "#]],
    );
}
