//! Settings that change while the scheduler runs.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_change_counts_from_now_on_and_survives_a_restart() {
    check(
        "
        worker w1; submit a; config retry_default=0; submit b
        restart
        fail a; submit c; fail b; fail c
        ",
        expect![[r#"
            assign a w1 | configure v1
            attempt a w1 Failed: boom | requeue a in 764.5 ms | assign b w1 | attempt b w1 Failed: boom | dead b RetriesUsedUp | assign c w1 | attempt c w1 Failed: boom | dead c RetriesUsedUp
        "#]],
    );
}

#[test]
fn an_unchanged_configuration_is_no_event() {
    check(
        "config prefetch=2; config prefetch=2",
        expect![[r#"
        configure v1
    "#]],
    );
}

#[test]
fn a_change_may_make_room_at_once() {
    check(
        "
        config duration=tiny:10ms prefetch=0
        worker w1; submit a type=tiny; submit b type=tiny
        config prefetch=1
        ",
        expect![[r#"
            configure v1
            assign a w1
            configure v2 | assign b w1
        "#]],
    );
}

#[test]
fn the_strategy_can_be_changed() {
    check(
        "
        worker w1 slots=9; worker w2 slots=9
        submit a; config strategy=round_robin; submit b; submit c
        decision c
        ",
        expect![[r#"
            assign a w1 | configure v1 | assign b w1 | assign c w2
            w2 by round_robin: next in turn; score 900000, wait 0 us, duration 5.0 s; w1 811200
        "#]],
    );
}

#[test]
fn bad_settings_are_refused_by_name() {
    for (setting, refusal) in [
        (
            "max_retry=101",
            expect![[r#"
            refused: max_retry is 101; it must be at most 100
        "#]],
        ),
        (
            "retry_default=6",
            expect![[r#"
            refused: retry_default is 6; it must be at most max_retry
        "#]],
        ),
        (
            "max_crashes=0",
            expect![[r#"
            refused: max_crashes is 0; it must be from 1 to 100
        "#]],
        ),
        (
            "max_queue_per_worker=0",
            expect![[r#"
            refused: max_queue_per_worker is 0; it must be from 1 to 100000
        "#]],
        ),
        (
            "hedge_budget_permille=1001",
            expect![[r#"
            refused: hedge_budget_permille is 1001; it must be at most 1000
        "#]],
        ),
        (
            "fallback_threshold=0",
            expect![[r#"
            refused: fallback_threshold is 0; it must be from 1 to 1000
        "#]],
        ),
        (
            "reject_percent=10",
            expect![[r#"
                refused: reject_threshold is 10; it must be from throttle_percent to 100
            "#]],
        ),
        (
            "jobs_max=0",
            expect![[r#"
            refused: jobs_max is 0; it must be from 1 to 100000000
        "#]],
        ),
        (
            "payload_bytes_max=0",
            expect![[r#"
            refused: payload_bytes_max is 0; it must be from 1 to 1 GiB
        "#]],
        ),
        (
            "job_timeout_default=0s",
            expect![[r#"
                refused: job_timeout_default is 0 s; it must be above 0
            "#]],
        ),
        (
            "retry_base=600s",
            expect![[r#"
                refused: retry_base is 600 s while retry_cap is 300 s; it must be above 0 and at most retry_cap
            "#]],
        ),
        (
            "unreachable_after=1s",
            expect![[r#"
                refused: heartbeat_interval is 5 s while unreachable_after is 1 s; it must be at least 1 ms and at most unreachable_after
            "#]],
        ),
        (
            "weights=0,0,0",
            expect![[r#"
                refused: weights is 0 in all; it must be above 0 and at most 10 in all
            "#]],
        ),
    ] {
        check(&format!("config {setting}"), refusal);
    }
}

#[test]
fn a_shorter_term_counts_for_those_who_are_already_silent() {
    check(
        "
        worker w1; silence w1; wait 20s
        config unreachable_after=15s
        wait 1s
        ",
        expect![[r#"
            configure v1
            [20.0 s] lost w1
        "#]],
    );
}
