//! Idempotency keys, and what is forgotten when.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_key_makes_one_job_however_often_it_is_sent() {
    check(
        "
        worker w1
        submit a key=k; submit a key=k; submit other key=k
        complete a; submit a key=k
        restart; submit a key=k; restart snapshot; submit b key=k
        ",
        expect![[r#"
            assign a w1 | known: a | known: a
            complete a w1 | known: a
            known: a | known: a
        "#]],
    );
}

#[test]
fn a_key_stands_for_its_job_even_when_that_is_forgotten() {
    check(
        "
        config retain_jobs=0
        worker w1; submit a key=k; complete a; state a
        submit a key=k
        ",
        expect![[r#"
            configure v1
            assign a w1 | complete a w1 | a is forgotten
            known: a
        "#]],
    );
}

#[test]
fn keys_expire_after_a_day() {
    check(
        "
        submit a key=k
        wait 23h; submit a key=k
        wait 2h; submit b
        submit c key=k
        ",
        expect![[r#"
            known: a
        "#]],
    );
}

#[test]
fn no_key_is_forgotten_early_to_make_room_for_another() {
    check(
        "
        config idempotency_max=2
        submit job-1-0000-1 key=k; submit job-1-0000-2 key=l; submit job-1-0000-3 key=m
        submit job-1-0000-4; submit job-1-0000-1 key=k
        wait 25h; submit job-1-0000-5; submit job-1-0000-3 key=m
        ",
        expect![[r#"
            configure v1
            refused: no more idempotency keys and ids can be kept for as long as is promised (idempotency_for); retry in 1.0 s, raise idempotency_disk_max, or send the job without a key and an id
            known: job-1-0000-1
        "#]],
    );
}

#[test]
fn a_run_is_known_only_if_all_its_keys_are() {
    check(
        "
        submit a key=k
        run r: b key=k, c key=l
        run r: b key=m, c key=l
        run s: d key=m, e key=l
        run t: f key=x, g key=x
        ",
        expect![[r#"
            refused: job b has the idempotency key k, which stands for another job already, or for one with another type or payload; send the same jobs again or choose other keys
            known: b, c
            refused: job g has the idempotency key x, which stands for another job already, or for one with another type or payload; send the same jobs again or choose other keys
        "#]],
    );
}

#[test]
fn ended_jobs_are_forgotten_by_count() {
    check(
        "
        config retain_jobs=1
        worker w1; submit a; submit b; complete a; complete b
        state a; state b
        cancel a
        submit a
        ",
        expect![[r#"
            configure v1
            assign a w1 | complete a w1 | assign b w1 | complete b w1
            a is forgotten | b completed, failures 0, crashes 0, returns 0
            refused: job a is not known; it may have ended and left the queue, see its history
            refused: job id a exists already; choose another, or set an idempotency key to submit safely twice
        "#]],
    );
}

#[test]
fn an_id_stands_for_its_job_when_that_is_long_forgotten_and_for_its_time() {
    check(
        "
        config retain_jobs=0
        submit a; submit job-1-0000-7; cancel a; cancel job-1-0000-7
        state a
        submit a; submit job-1-0000-7
        restart snapshot
        submit a
        wait 25h; submit b; submit a; state a
        ",
        expect![[r#"
            configure v1
            cancel a: on request | cancel job-1-0000-7: on request
            a is forgotten
            refused: job id a exists already; choose another, or set an idempotency key to submit safely twice
            refused: job id a exists already; choose another, or set an idempotency key to submit safely twice
            a ready, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn no_id_is_forgotten_early_to_make_room_for_another() {
    check(
        "
        config idempotency_max=2 retain_jobs=0
        submit a; submit b; cancel a; cancel b
        submit c; submit job-1-0000-7; submit a
        wait 25h; submit d; submit c
        ",
        expect![[r#"
            configure v1
            cancel a: on request | cancel b: on request
            refused: no more idempotency keys and ids can be kept for as long as is promised (idempotency_for); retry in 1.0 s, raise idempotency_disk_max, or send the job without a key and an id | refused: no more idempotency keys and ids can be kept for as long as is promised (idempotency_for); retry in 1.0 s, raise idempotency_disk_max, or send the job without a key and an id
        "#]],
    );
}

#[test]
fn ended_jobs_are_forgotten_by_age() {
    check(
        "
        worker w1; submit a; complete a
        wait 59m; submit b delay=1h; state a
        wait 2m; submit c delay=1h; state a
        ",
        expect![[r#"
            assign a w1 | complete a w1
            a completed, failures 0, crashes 0, returns 0
            a is forgotten
        "#]],
    );
}

#[test]
fn a_reopened_job_is_not_forgotten() {
    check(
        "
        config retain_jobs=1
        worker w1; submit a; fail a permanently; retry a
        submit b; complete a; complete b
        state a; state b
        ",
        expect![[r#"
            configure v1
            assign a w1 | attempt a w1 Permanent: boom | fail a Permanent | reopen a | assign a w1
            complete a w1 | assign b w1 | complete b w1
            a is forgotten | b completed, failures 0, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn a_forgotten_run_frees_its_name() {
    check(
        "
        config retain_jobs=1
        worker w1; run r: a, b
        run r: c, d
        complete a; complete b; submit e; complete e
        run r: c, d
        ",
        expect![[r#"
            configure v1
            assign a w1
            refused: run id r exists already; choose another
            complete a w1 | assign b w1 | complete b w1 | assign e w1 | complete e w1
            assign c w1
        "#]],
    );
}
