//! Dependencies: order, and what happens downstream of a failure.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_job_never_starts_before_its_dependencies_completed() {
    check(
        "
        worker w1 slots=4
        run r: a, b after=a, c after=a, d after=b+c
        state d; ack a; complete a; complete b; state d; complete c; complete d
        ",
        expect![[r#"
            assign a w1
            d waiting for 2, failures 0, crashes 0, returns 0 | start a w1 | complete a w1 | assign b w1 | assign c w1 | complete b w1 | d waiting for 1, failures 0, crashes 0, returns 0 | complete c w1 | assign d w1 | complete d w1
        "#]],
    );
}

#[test]
fn a_run_that_comes_in_steps_is_one_run() {
    check(
        "
        worker w1
        run r: a; extend r: b after=a; run r: c
        complete a; complete b; extend r: d
        ",
        expect![[r#"
            assign a w1 | refused: run id r exists already; choose another
            complete a w1 | assign b w1 | complete b w1 | assign d w1
        "#]],
    );
}

#[test]
fn the_order_of_a_submission_does_not_matter() {
    check(
        "
        worker w1
        run r: c after=b, b after=a, a
        complete a; complete b; complete c
        ",
        expect![[r#"
            assign a w1
            complete a w1 | assign b w1 | complete b w1 | assign c w1 | complete c w1
        "#]],
    );
}

#[test]
fn jobs_may_depend_on_earlier_submissions() {
    check(
        "
        worker w1
        submit a; submit b after=a; submit c after=a+b
        complete a; submit d after=a; complete b; complete d; complete c
        ",
        expect![[r#"
            assign a w1
            complete a w1 | assign b w1 | complete b w1 | assign d w1 | complete d w1 | assign c w1 | complete c w1
        "#]],
    );
}

#[test]
fn the_longest_chain_goes_first() {
    check(
        "
        worker w1
        run r: short, long1, long2 after=long1, long3 after=long2
        complete long1; complete long2; complete short
        ",
        expect![[r#"
            assign long1 w1
            complete long1 w1 | assign long2 w1 | complete long2 w1 | assign short w1 | complete short w1 | assign long3 w1
        "#]],
    );
}

#[test]
fn downstream_of_a_failure_is_skipped() {
    check(
        "
        worker w1
        run r: a, b after=a, c after=b, other
        fail a permanently
        state c; effects
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Permanent: boom | fail a Permanent | skip b because a | skip c because b | assign other w1
            c skipped, failures 0, crashes 0, returns 0 | offer a w1 number 1 | ended a | ended b | ended c | offer other w1 number 1
        "#]],
    );
}

#[test]
fn a_job_may_run_anyway() {
    check(
        "
        worker w1 slots=2
        run r: a, b, clean after=a+b on_failure=run, then after=clean
        fail a permanently; state clean
        complete b; complete clean; complete then
        ",
        expect![[r#"
            assign a w1 | assign b w1
            attempt a w1 Permanent: boom | fail a Permanent | clean waiting for 1, failures 0, crashes 0, returns 0
            complete b w1 | assign clean w1 | complete clean w1 | assign then w1 | complete then w1
        "#]],
    );
}

#[test]
fn run_anyway_goes_on_behind_a_skipped_job() {
    check(
        "
        worker w1
        run r: a, b after=a, report after=b on_failure=run
        cancel a
        ",
        expect![[r#"
            assign a w1
            revoke a w1 Cancelled | cancel a: on request | skip b because a | assign report w1
        "#]],
    );
}

#[test]
fn each_job_is_skipped_once() {
    check(
        "
        worker w1
        run r: a, b after=a, c after=a+b, d after=b+c
        fail a permanently
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Permanent: boom | fail a Permanent | skip b because a | skip c because a | skip d because c
        "#]],
    );
}

#[test]
fn a_job_submitted_behind_a_failure_is_skipped_at_once() {
    check(
        "
        worker w1; submit a; fail a permanently
        submit b after=a; state b
        submit c after=a on_failure=run
        run r: d after=a, e after=a+d, f after=e
        ",
        expect![[r#"
            assign a w1 | attempt a w1 Permanent: boom | fail a Permanent
            skip b because b | b skipped, failures 0, crashes 0, returns 0
            assign c w1
            skip d because d | skip e because d | skip f because e
        "#]],
    );
}

#[test]
fn the_edge_settles_dependencies_that_are_forgotten() {
    check(
        "
        worker w1
        submit a after=old settled=old:completed
        submit b after=old settled=old:failed
        submit c after=old
        ",
        expect![[r#"
            assign a w1
            skip b because b
            refused: job c depends on old, which is neither in this run nor known; submit it first
        "#]],
    );
}

#[test]
fn a_retry_by_hand_reopens_what_was_skipped() {
    check(
        "
        worker w1
        run r: a, b after=a, c after=b, d after=a+c
        fail a permanently
        retry a
        complete a; complete b; complete c; complete d
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Permanent: boom | fail a Permanent | skip b because a | skip d because a | skip c because b
            reopen a | reopen b | reopen c | reopen d | assign a w1
            complete a w1 | assign b w1 | complete b w1 | assign c w1 | complete c w1 | assign d w1 | complete d w1
        "#]],
    );
}

#[test]
fn a_reopened_job_waits_for_others_that_are_still_failed() {
    check(
        "
        worker w1 slots=2
        run r: a, b, c after=a+b
        fail a permanently; fail b permanently
        retry a; state c
        retry b; state c
        complete a; complete b
        ",
        expect![[r#"
            assign a w1 | assign b w1
            attempt a w1 Permanent: boom | fail a Permanent | skip c because a | attempt b w1 Permanent: boom | fail b Permanent
            reopen a | assign a w1 | c skipped, failures 0, crashes 0, returns 0
            reopen b | reopen c | assign b w1 | c waiting for 2, failures 0, crashes 0, returns 0
            complete a w1 | complete b w1 | assign c w1
        "#]],
    );
}

#[test]
fn a_cancelled_job_is_not_retried_while_a_dependency_of_its_is_failed() {
    check(
        "
        worker w1 slots=3
        run r: a, b, c after=a+b
        cancel c; fail a permanently; fail b permanently
        retry c
        retry b; retry c
        complete b; retry a; retry c; complete a
        ",
        expect![[r#"
            assign a w1 | assign b w1
            cancel c: on request | attempt a w1 Permanent: boom | fail a Permanent | attempt b w1 Permanent: boom | fail b Permanent
            refused: job c depends on a, which did not complete; retry that first
            reopen b | assign b w1 | refused: job c depends on a, which did not complete; retry that first
            complete b w1 | reopen a | assign a w1 | reopen c | complete a w1 | assign c w1
        "#]],
    );
}

#[test]
fn one_that_runs_anyway_waits_again_for_a_reopened_dependency() {
    check(
        "
        worker w1 slots=2
        run r: a, b, clean after=a+b on_failure=run
        fail a permanently; state clean
        retry a; state clean
        complete b; complete a
        ",
        expect![[r#"
            assign a w1 | assign b w1
            attempt a w1 Permanent: boom | fail a Permanent | clean waiting for 1, failures 0, crashes 0, returns 0
            reopen a | assign a w1 | clean waiting for 2, failures 0, crashes 0, returns 0
            complete b w1 | complete a w1 | assign clean w1
        "#]],
    );
}

#[test]
fn short_retention_does_not_disturb_a_cascade() {
    check(
        "
        config retain_jobs=0
        worker w1
        run r: a, b after=a, c after=a, d after=b+c, e after=d
        fail a permanently; state a
        ",
        expect![[r#"
            configure v1
            assign a w1
            attempt a w1 Permanent: boom | fail a Permanent | skip b because a | skip c because a | skip d because c | skip e because d | a is forgotten
        "#]],
    );
}
