//! A worker hands its attempt to another: one claim at a time, the same retries, and nothing that
//! was signed for something else.

use expect_test::expect;

use crate::script::check;

/// The first worker runs the job.
const HELD: &str = "
    worker w1 key=1; worker w2 key=2 role=painter; submit a payload=x receiver=w1; ack a
    --
";

#[test]
fn the_receiver_goes_on_with_it() {
    check(
        &format!(
            "{HELD}
            handoff a to=w2
            effects
            complete a nth=1
            ack a; complete a
            state a
            "
        ),
        expect![[r#"
            hand off a w1 to w2 | assign a w2
            offer a w1 number 1 | revoke a w1 HandedOff | offer a w2 number 2
            refused: worker w1 does not hold job 1 with token 6; the attempt was taken away, drop it
            start a w2 | complete a w2
            a completed, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn what_was_signed_for_something_else_changes_nothing() {
    check(
        &format!(
            "{HELD}
            handoff a to=w2 job=b
            handoff a to=w2 token=3
            handoff a to=w2 key=2
            handoff a to=w2 lasts=0s
            handoff a to=w2 payload=y
            handoff a to=w2 unchained
            handoff a to=w2 as=w2
            handoff a to=w1
            handoff a to=w9
            state a
            "
        ),
        expect![[r#"
            refused: the handoff was signed for job b with token 6, not for job 1 as it is held now
            refused: the handoff was signed for job a with token 3, not for job 1 as it is held now
            refused: worker w1 is bound to another key than 0202020202020202020202020202020202020202020202020202020202020202; choose another id, or let an operator run `bellwether workers approve w1 0202020202020202020202020202020202020202020202020202020202020202`
            refused: the handoff of job 1 has expired; sign it anew
            refused: the handoff of job 1 was signed for another payload than the job has
            refused: the handoff of job 1 does not follow the one before it; sign the chain as offered
            refused: worker w2 does not hold job 1 with token 6; the attempt was taken away, drop it
            refused: worker w1 hands a job to itself; name another receiver
            refused: the receiver w9 is not known; name a worker that is registered, or a role
            a running on w1, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn a_role_is_a_receiver_and_a_chain_grows() {
    check(
        &format!(
            "{HELD}
            handoff a to=role:painter
            ack a; handoff a to=w1
            effects
            restart snapshot
            ack a; fail a
            wait 3s
            state a
            "
        ),
        expect![[r#"
            hand off a w1 to role:painter | assign a w2
            start a w2 | hand off a w2 to w1 | assign a w1
            offer a w1 number 1 | revoke a w1 HandedOff | offer a w2 number 2 | revoke a w2 HandedOff | offer a w1 number 3
            start a w1 | attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            a offered on w1, failures 1, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn a_handoff_costs_no_retry() {
    check(
        "
        worker w1 key=1; worker w2 key=2; submit a retry=0; ack a
        handoff a to=w2
        ack a; fail a
        state a
        ",
        expect![[r#"
            bind w1 key 1 first_use | bind w2 key 2 first_use | assign a w1 | start a w1
            hand off a w1 to w2 | assign a w2
            start a w2 | attempt a w2 Failed: boom | dead a RetriesUsedUp
            a dead_lettered, failures 1, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn one_claim_holds_at_a_time() {
    check(
        "
        worker w1 key=1; worker w2 key=2; submit a guarantee=exactly_once; claim a
        handoff a to=w2
        claim a nth=1
        complete a nth=1
        claim a; complete a
        ",
        expect![[r#"
            bind w1 key 1 first_use | bind w2 key 2 first_use | assign a w1 | grant a w1
            hand off a w1 to w2 | assign a w2
            refused: worker w1 does not hold job 1 with token 6; the attempt was taken away, drop it
            refused: worker w1 does not hold job 1 with token 6; the attempt was taken away, drop it
            grant a w2 | complete a w2
        "#]],
    );
}

#[test]
fn a_job_that_is_dispatched_once_stays() {
    check(
        "worker w1 key=1; worker w2 key=2; submit a guarantee=at_most_once; ack a; handoff a to=w2",
        expect![[r#"
            bind w1 key 1 first_use | bind w2 key 2 first_use | assign a w1 | start a w1 | refused: job 1 is at_most_once: it can't be dispatched a second time, so not handed off
        "#]],
    );
}

#[test]
fn nobody_hands_a_job_on_for_ever() {
    let round = "handoff a to=w2; ack a; handoff a to=w1; ack a\n".repeat(8);
    check(
        &format!(
            "worker w1 key=1; worker w2 key=2; submit a receiver=w1; ack a
            {round}
            --
            handoff a to=w2
            "
        ),
        expect![[r#"
            refused: job 1 was handed off 16 times, which is all that is allowed; run it or fail it
        "#]],
    );
}

#[test]
fn a_revoked_key_hands_nothing_off_and_gets_nothing() {
    check(
        "
        worker w1 key=1; worker w2 key=2; submit a receiver=w1; ack a
        revoke w2
        handoff a to=w2
        ",
        expect![[r#"
            bind w1 key 1 first_use | bind w2 key 2 first_use | assign a w1 | start a w1
            revoke key of w2 | left w2
            refused: the key of worker w2 was revoked; let an operator approve one anew
        "#]],
    );
}

#[test]
fn starting_over_forgets_whom_it_was_given_to() {
    check(
        "
        worker w1 key=1; worker w2 key=2; submit a retry=0 receiver=w1; ack a
        handoff a to=w2; ack a; fail a
        retry a
        ",
        expect![[r#"
            bind w1 key 1 first_use | bind w2 key 2 first_use | assign a w1 | start a w1
            hand off a w1 to w2 | assign a w2 | start a w2 | attempt a w2 Failed: boom | dead a RetriesUsedUp
            reopen a | assign a w1
        "#]],
    );
}

#[test]
fn the_twin_of_what_failed_last_is_not_handed_on() {
    check(
        "
        worker w1 key=1; worker w2 key=2; worker w3 key=3; submit a retry=0
        wait 500ms
        --
        fail a nth=1
        handoff a to=w3
        ack a; complete a
        ",
        expect![[r#"
            attempt a w1 Failed: boom
            refused: job 1 has used up its retries while this attempt ran beside another; run it or fail it
            start a w2 | complete a w2
        "#]],
    );
}
