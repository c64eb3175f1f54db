//! Predictions: learning, failing, drifting, and a policy in the shadow.

use expect_test::expect;

use crate::script::check;

#[test]
fn an_unknown_type_is_expected_to_take_five_seconds() {
    check(
        "worker w1; submit a; decision a",
        expect![[r#"
        assign a w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 5.0 s
    "#]],
    );
}

#[test]
fn what_jobs_took_is_what_their_like_will_take_also_after_a_restart() {
    check(
        "
        worker w1
        submit a; ack a; wait 2s; complete a
        submit b; ack b; wait 2s; complete b
        submit c; decision c; complete c
        restart snapshot
        submit d; decision d
        ",
        expect![[r#"
            assign a w1 | start a w1
            complete a w1
            assign b w1 | start b w1
            complete b w1
            assign c w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 2.0 s | complete c w1
            assign d w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 2.0 s
        "#]],
    );
}

#[test]
fn each_predictor_can_be_chosen() {
    let with = |kind: &str| {
        format!(
            "
            config predictor={kind}
            worker w1; submit a; ack a
            wait 2s; complete a; submit b; decision b
            "
        )
    };
    check(
        &with("ema"),
        expect![[r#"
        configure v1
        assign a w1 | start a w1
        complete a w1 | assign b w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 2.0 s
    "#]],
    );
    check(
        &with("hierarchical"),
        expect![[r#"
        configure v1
        assign a w1 | start a w1
        complete a w1 | assign b w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 2.0 s
    "#]],
    );
    check(
        &with("auto"),
        expect![[r#"
        assign a w1 | start a w1
        complete a w1 | assign b w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 2.0 s
    "#]],
    );
}

#[test]
fn a_failing_predictor_is_replaced_by_round_robin_at_once() {
    check(
        "
        worker w1 slots=9; worker w2 slots=9; worker w3 slots=9
        predictor fails
        submit a; decision a
        ",
        expect![[r#"
            predictor failed for a | assign a w1 | w1 by round_robin (fallback): next in turn; score 900000, wait 0 us, duration 5.0 s; w2 900000; w3 900000
        "#]],
    );
}

#[test]
fn the_breaker_opens_after_three_failures_half_opens_and_closes() {
    check(
        "
        worker w1 slots=99; worker w2 slots=99
        predictor fails
        submit a; submit b; submit c; ack a; ack b; ack c
        submit d; decision d; ack d
        wait 9s; submit e; ack e
        wait 2s; submit f; ack f
        wait 9s; submit g; ack g
        predictor works; wait 2s; submit h; decision h
        ",
        expect![[r#"
            predictor failed for a | assign a w1 | predictor failed for b | assign b w2 | predictor failed for c | breaker opens for 10.0 s | assign c w1 | start a w1 | start b w2 | start c w1
            assign d w2 | w2 by round_robin (fallback): next in turn; score 896000, wait 0 us, duration 5.0 s; w1 892000 | start d w2
            assign e w1 | start e w1
            predictor failed for f | breaker opens for 10.0 s | assign f w2 | start f w2
            assign g w1 | start g w1
            breaker closes | assign h w2 | w2 by predictive: least loaded, depth 3; score 888000, wait 0 us, duration 5.0 s; w1 884000
        "#]],
    );
}

#[test]
fn a_success_in_between_starts_the_count_anew() {
    check(
        "
        worker w1 slots=99; worker w2 slots=99
        predictor fails; submit a; submit b
        predictor works; submit c
        predictor fails; submit d; submit e
        ",
        expect![[r#"
            predictor failed for a | assign a w1 | predictor failed for b | assign b w2
            breaker closes | assign c w1
            predictor failed for d | assign d w1 | predictor failed for e | assign e w2
        "#]],
    );
}

#[test]
fn a_hedge_does_not_wait_for_a_predictor_either() {
    check(
        "
        worker w1; worker w2; submit a
        predictor fails
        wait 1s
        ",
        expect![[r#"
            assign a w1
            [500.0 ms] predictor failed for a | hedge a w2
        "#]],
    );
}

#[test]
fn a_failing_predictor_does_not_flood_the_journal() {
    check(
        "
        worker w1 cap=gpu; worker other
        predictor fails
        submit a cap=gpu; submit b cap=gpu; submit c cap=gpu type=u; submit d cap=gpu type=v
        restart
        ",
        expect![[r#"
            predictor failed for a | assign a w1
        "#]],
    );
}

#[test]
fn drift_is_reported_once() {
    let mut script = String::from("config retain_jobs=0 idempotency_for=500ms\nworker w1\n");
    script += &"submit a; ack a; wait 1s\n complete a\n".repeat(20);
    script += &"submit a; ack a; wait 8s\n complete a\n".repeat(12);
    let (world, output) =
        crate::script::run(crate::script::World::new(Default::default()), &script);
    let told: Vec<&str> = output.lines().filter(|line| line.contains("drift")).collect();
    expect!["complete a w1 | drift of t: 87% instead of 27%"].assert_eq(&told.join("\n"));
    world.check_promises();
}

#[test]
fn round_robin_in_the_shadow_takes_turns() {
    check(
        "
        config shadow=round_robin duration=t:100ms
        worker fast slots=9; worker slow slots=9
        beat slow load=900
        submit a; decision a; submit b; decision b; submit c; decision c
        ",
        expect![[r#"
            configure v1
            report slow load=900 queue=0
            assign a fast | fast by predictive: least loaded, depth 0; score 900000, wait 0 us, duration 100.0 ms; slow 540400; shadow fast 100.0 ms against 100.0 ms, round robin 100.0 ms | assign b fast | fast by predictive: least loaded, depth 1; score 855600, wait 0 us, duration 100.0 ms; slow 540400; shadow slow 100.0 ms against 100.0 ms, round robin 100.0 ms | assign c fast | fast by predictive: least loaded, depth 2; score 811200, wait 0 us, duration 100.0 ms; slow 540400; shadow fast 100.0 ms against 100.0 ms, round robin 100.0 ms
        "#]],
    );
}

#[test]
fn a_predictor_can_be_told_to_fail() {
    check(
        "
        config predictor=failing
        worker w1 slots=9; worker w2 slots=9
        submit a; submit b; submit c; submit d; decision d; ack a; ack b; ack c; ack d
        config predictor=auto; wait 11s; submit e; decision e
        ",
        expect![[r#"
            configure v1
            predictor failed for a | assign a w1 | predictor failed for b | assign b w2 | predictor failed for c | breaker opens for 10.0 s | assign c w1 | assign d w2 | w2 by round_robin (fallback): next in turn; score 855600, wait 0 us, duration 5.0 s; w1 811200 | start a w1 | start b w2 | start c w1 | start d w2
            configure v2
            breaker closes | assign e w1 | w1 by predictive: least loaded, depth 2; score 811200, wait 0 us, duration 5.0 s; w2 811200
        "#]],
    );
}

#[test]
fn a_shadow_decides_beside_without_effect() {
    check(
        "
        config shadow=round_robin
        worker w1 slots=4; worker w2 slots=4
        submit a; decision a
        submit b receiver=w2; submit c; decision c
        shadow
        ",
        expect![[r#"
            configure v1
            assign a w1 | w1 by predictive: least loaded, depth 0; score 900000, wait 0 us, duration 5.0 s; w2 900000; shadow w1 5.0 s against 5.0 s, round robin 5.0 s
            assign b w2 | assign c w1 | w1 by predictive: least loaded, depth 1; score 800000, wait 0 us, duration 5.0 s; w2 800000; shadow w1 5.0 s against 5.0 s, round robin 5.0 s
            3 decisions, 100% agreed, gain 0%
        "#]],
    );
}
