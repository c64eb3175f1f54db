//! Fast and slow workers: a job of a run may be better off waiting for a fast one that is busy, and
//! a long job on its own leaves the last fast slots to others.

use expect_test::expect;

use crate::script::check;

/// `slow` has been seen to need 10 seconds for what takes `fast` one.
fn after_learning(script: &str) -> String {
    format!(
        "
        worker slow class=slow; worker fast class=fast
        submit s1 receiver=slow; ack s1; wait 10s; complete s1
        submit f1 receiver=fast; ack f1; wait 1s; complete f1
        submit s2 receiver=slow; ack s2; wait 10s; complete s2
        submit f2 receiver=fast; ack f2; wait 1s; complete f2; --
        {script}
        "
    )
}

#[test]
fn a_job_of_a_run_waits_for_a_faster_worker() {
    let script = "
        run r: a, b; ack a; decision a
        why b
        wait 1s; complete a
        ";
    check(
        &after_learning(script),
        expect![[r#"
        assign a fast | start a fast | fast by predictive: predicted best; score 900000, wait 0 us, duration 1.0 s; slow 500000
        job b waits for worker fast, which is busy for about 1.0 s but would finish it sooner than any free worker
        complete a fast | assign b fast
    "#]],
    );
}

#[test]
fn it_does_not_wait_for_ever() {
    let script = "
        run r: a timeout=1h, b; ack a
        wait 40s
        ";
    check(
        &after_learning(script),
        expect![[r#"
            assign a fast | start a fast
            [49.9 s] assign b slow
        "#]],
    );
}

#[test]
fn those_who_wait_before_it_are_counted() {
    let script = "
        run r: a, b, c, d, e, f, g, h, i, j, k, l
        why b; why c
        ";
    check(
        &after_learning(script),
        expect![[r#"
            assign a fast | assign j slow
            job b waits because all 2 workers that can run it are busy; it is next, expected to start in about 1.0 s | job c waits because all 2 workers that can run it are busy; 1 job goes first, expected to start in about 10.0 s
        "#]],
    );
}

#[test]
fn waiting_can_be_switched_off() {
    check(
        &after_learning("config hold_max=0; run r: a, b"),
        expect![[r#"
        configure v1 | assign a fast | assign b slow
    "#]],
    );
}

#[test]
fn other_strategies_do_not_wait() {
    check(
        &after_learning("config strategy=least_loaded; run r: a, b"),
        expect![[r#"
        configure v1 | assign a fast | assign b slow
    "#]],
    );
}

#[test]
fn nobody_waits_for_a_worker_that_drains_or_is_overloaded() {
    check(
        &after_learning("submit a; ack a; drain fast; run r: b, c"),
        expect![[r#"
        assign a fast | start a fast | drain fast | assign b slow
    "#]],
    );
    check(
        &after_learning("submit a; ack a; beat fast overloaded; run r: b, c"),
        expect![[r#"
        assign a fast | start a fast | report fast load=0 queue=0 overloaded | assign b slow
    "#]],
    );
    let script = "
        submit a; ack a; drain fast; undrain fast
        run r: b, c; why b
        ";
    check(
        &after_learning(script),
        expect![[r#"
            assign a fast | start a fast | drain fast | undrain fast
            job b waits for worker fast, which is busy for about 999.9 ms but would finish it sooner than any free worker
        "#]],
    );
}

#[test]
fn a_job_on_its_own_takes_any_worker_at_once() {
    check(
        &after_learning("submit a; submit b"),
        expect![[r#"
        assign a fast | assign b slow
    "#]],
    );
}

#[test]
fn a_long_job_leaves_the_last_fast_slots_to_short_ones() {
    let quick = "submit q type=quick receiver=fast; ack q; wait 1s; complete q\n".repeat(100);
    let script = format!(
        "
        config retain_jobs=0 idempotency_for=500ms duration=tiny:100ms
        worker slow slots=5 class=slow; worker fast slots=5 class=fast
        submit s1 receiver=slow; ack s1; wait 4s; complete s1
        submit f1 receiver=fast; ack f1; wait 2s; complete f1
        {quick}
        submit x1 x2 x3 x4 type=quick receiver=fast; --
        submit a; decision a
        submit b type=tiny; decision b
        "
    );
    check(
        &script,
        expect![[r#"
            assign a slow | slow by predictive: spares fast slots; score 900000, wait 0 us, duration 4.0 s
            assign b fast | fast by predictive: predicted best; score 580000, wait 0 us, duration 99.8 ms; slow 420000
        "#]],
    );
}

#[test]
fn a_job_that_was_set_aside_goes_before_one_that_comes_behind_it() {
    let script = "
        worker slow class=slow role=main; worker fast class=fast role=main; worker x role=other
        submit s1 receiver=slow; ack s1; wait 10s; complete s1
        submit f1 receiver=fast; ack f1; wait 1s; complete f1
        submit s2 receiver=slow; ack s2; wait 10s; complete s2
        submit f2 receiver=fast; ack f2; wait 1s; complete f2
        submit a receiver=fast; submit b receiver=slow; ack a; ack b; --
        run r1: first role=main cpu=1 priority=critical
        submit second role=main cpu=2 priority=critical
        submit fills receiver=x
        run r3: third role=main cpu=3
        complete b
        ";
    check(
        script,
        expect![[r#"
        assign fills x
        complete b slow | assign second slow
    "#]],
    );
}

#[test]
fn an_attempt_that_is_late_hides_no_other_that_ends_soon() {
    let script = "
        worker slow class=slow; worker fast class=fast slots=2
        submit s1 receiver=slow; ack s1; wait 10s; complete s1
        submit f1 receiver=fast; ack f1; wait 1s; complete f1
        submit s2 receiver=slow; ack s2; wait 10s; complete s2
        submit f2 receiver=fast; ack f2; wait 1s; complete f2
        submit late receiver=fast; ack late; wait 30s
        submit soon receiver=fast; ack soon; --
        run r: a; why a
        wait 1s; complete soon
        ";
    check(
        script,
        expect![[r#"
        job a waits for worker fast, which is busy for about 999.9 ms but would finish it sooner than any free worker
        complete soon fast | assign a fast
    "#]],
    );
}
