//! Each refusal once: it names the culprit and the way out. That nothing is half applied, the
//! fixture checks on every refusal.

use bellwether_core::model::limits::{DEPENDENCIES_MAX, LABELS_MAX, RUN_JOBS_MAX};
use expect_test::expect;

use crate::script::check;

#[test]
fn empty_submission() {
    check(
        "submit",
        expect![[r#"
        refused: a submission has no jobs; send at least one
    "#]],
    );
}

#[test]
fn run_too_large() {
    let jobs: Vec<String> = (0..=RUN_JOBS_MAX).map(|number| format!("j{number}")).collect();
    check(
        &format!("run r: {}", jobs.join(",")),
        expect![[r#"
        refused: the run has 100001 jobs; at most 100000 are allowed, so split it
    "#]],
    );
}

#[test]
fn duplicate_job() {
    check(
        "submit a; submit a",
        expect![[r#"
        refused: job id a exists already; choose another, or set an idempotency key to submit safely twice
    "#]],
    );
    check(
        "run r: a, b, a",
        expect![[r#"
        refused: job id a exists already; choose another, or set an idempotency key to submit safely twice
    "#]],
    );
}

#[test]
fn duplicate_run() {
    check(
        "run r: a, b; run r: c, d",
        expect![[r#"
        refused: run id r exists already; choose another
    "#]],
    );
}

#[test]
fn unknown_dependency() {
    check(
        "run r: a, b after=a+ghost",
        expect![[r#"
        refused: job b depends on ghost, which is neither in this run nor known; submit it first
    "#]],
    );
}

#[test]
fn self_dependency() {
    check(
        "submit a after=a",
        expect![[r#"
        refused: job a depends on itself; remove that dependency
    "#]],
    );
}

#[test]
fn duplicate_dependency() {
    check(
        "run r: a, b after=a+a",
        expect![[r#"
        refused: job b names its dependency a twice; name it once
    "#]],
    );
}

#[test]
fn cycle() {
    check(
        "run r: x, a after=c+x, b after=a, c after=b, d after=a",
        expect![[r#"
        refused: the dependencies form a cycle: a -> c -> b -> a; remove one of them
    "#]],
    );
}

#[test]
fn too_many() {
    let many = |count: usize| (0..count).map(|n| format!("n{n}")).collect::<Vec<_>>().join("+");
    check(
        &format!("submit a tags={}", many(LABELS_MAX + 1)),
        expect![[r#"
        refused: job a has 65 tags; at most 64 are allowed
    "#]],
    );
    check(
        &format!("submit a cap={}", many(LABELS_MAX + 1)),
        expect![[r#"
        refused: job a has 65 capabilities; at most 64 are allowed
    "#]],
    );
    check(
        &format!("submit a after={}", many(DEPENDENCIES_MAX + 1)),
        expect![[r#"
        refused: job a has 10001 dependencies; at most 10000 are allowed
    "#]],
    );
}

#[test]
fn retry_above_max() {
    check(
        "submit a retry=6",
        expect![[r#"
        refused: job a asks for 6 retries; at most 5 are allowed (max_retry)
    "#]],
    );
}

#[test]
fn zero_timeout() {
    check(
        "submit a timeout=0s",
        expect![[r#"
        refused: job a has a timeout of 0; give it at least one second or leave it out
    "#]],
    );
}

#[test]
fn payload_too_large() {
    check(
        "submit a payload_bytes=1048577",
        expect![[r#"
        refused: job a has a payload of 1048577 bytes; at most 1048576 are allowed (payload_bytes_max)
    "#]],
    );
}

#[test]
fn queue_full() {
    check(
        "config jobs_max=1 reject_percent=100; submit a; submit b",
        expect![[r#"
            configure v1 | throttled: 100% full, pause 5.0 s | refused: the queue is full (1 of 1 jobs); retry in 5.0 s or raise jobs_max
        "#]],
    );
}

#[test]
fn unknown_job() {
    check(
        "cancel a; retry a; pin a w1",
        expect![[r#"
        refused: job a is not known; it may have ended and left the queue, see its history | refused: job a is not known; it may have ended and left the queue, see its history | refused: job a is not known; it may have ended and left the queue, see its history
    "#]],
    );
}

#[test]
fn already_ended() {
    check(
        "worker w1; submit a; complete a; cancel a; pin a w1",
        expect![[r#"
        assign a w1 | complete a w1 | refused: job a has ended (completed); one that did not complete can be retried | refused: job a has ended (completed); one that did not complete can be retried
    "#]],
    );
}

#[test]
fn not_retryable() {
    check(
        "
        worker w1; submit a; submit b after=a; retry a
        retry b
        cancel a; retry b
        submit c; complete c; retry c
        ",
        expect![[r#"
            assign a w1 | refused: job a is offered; only a job that failed, was cancelled or dead-lettered can be retried
            refused: job b is waiting; only a job that failed, was cancelled or dead-lettered can be retried
            revoke a w1 Cancelled | cancel a: on request | skip b because a | refused: job b depends on a, which did not complete; retry that first
            assign c w1 | complete c w1 | refused: job c is completed; only a job that failed, was cancelled or dead-lettered can be retried
        "#]],
    );
}

#[test]
fn already_placed() {
    check(
        "worker w1; worker w2; submit a; pin a w2",
        expect![[r#"
        assign a w1 | refused: job a is on worker w1; cancel it or let it end before you pin it
    "#]],
    );
}

#[test]
fn unknown_worker() {
    check(
        "submit a; pin a ghost; drain ghost; undrain ghost; leave ghost",
        expect![[r#"
        refused: worker ghost is not registered; register first | refused: worker ghost is not registered; register first | refused: worker ghost is not registered; register first | refused: worker ghost is not registered; register first
    "#]],
    );
    check(
        "beat ghost; loaded ghost m",
        expect![[r#"
        refused: worker ghost is not registered; register first | refused: worker ghost is not registered; register first
    "#]],
    );
}

#[test]
fn bad_slots() {
    check(
        "worker w1 slots=0; worker w1 slots=10001",
        expect![[r#"
        refused: worker w1 offers 0 slots; it must be from 1 to 10000 | refused: worker w1 offers 10001 slots; it must be from 1 to 10000
    "#]],
    );
}

#[test]
fn too_many_labels() {
    let many = (0..=LABELS_MAX).map(|n| format!("n{n}")).collect::<Vec<_>>().join("+");
    check(
        &format!("worker w1 role={many}"),
        expect![[r#"
        refused: worker w1 lists 65 roles; at most 64 are allowed
    "#]],
    );
    check(
        &format!("worker w1 cap={many}"),
        expect![[r#"
        refused: worker w1 lists 65 capabilities; at most 64 are allowed
    "#]],
    );
    check(
        &format!("worker w1 model={many}"),
        expect![[r#"
        refused: worker w1 lists 65 models; at most 64 are allowed
    "#]],
    );
}

#[test]
fn stale_token() {
    check(
        "worker w1; submit a; ack a; cancel a; complete a",
        expect![[r#"
        assign a w1 | start a w1 | revoke a w1 Cancelled | cancel a: on request | refused: worker w1 does not hold job 1 with token 3; the attempt was taken away, drop it
    "#]],
    );
}

#[test]
fn other_result() {
    check(
        "worker w1; submit a guarantee=exactly_once; claim a; complete a; complete a result=other",
        expect![[r#"
            assign a w1 | grant a w1 | complete a w1 | refused: job 1 has a result with another hash already; this one is refused
        "#]],
    );
}

#[test]
fn claim_first() {
    check(
        "worker w1; submit a guarantee=exactly_once; ack a",
        expect![[r#"
        assign a w1 | refused: job 1 is exactly_once: claim it and wait for the grant before you start
    "#]],
    );
}

#[test]
fn not_claimable() {
    check(
        "worker w1; submit a; claim a",
        expect![[r#"
        assign a w1 | refused: job 1 is not exactly_once: acknowledge it instead of claiming it
    "#]],
    );
}

#[test]
fn config() {
    check(
        "config jobs_max=0",
        expect![[r#"
        refused: jobs_max is 0; it must be from 1 to 100000000
    "#]],
    );
}
