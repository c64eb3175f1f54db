//! The five strategies, ties, and the reasons that decisions are recorded with.

use expect_test::expect;

use crate::script::check;

#[test]
fn predictive_takes_the_worker_that_finishes_first() {
    check(
        "
        config hold_max=0
        worker w1 class=slow; worker w2 class=fast
        submit a receiver=w1; ack a; submit b receiver=w2; ack b
        wait 1s; complete b; wait 9s; complete a
        submit c; decision c
        ",
        expect![[r#"
            configure v1
            assign a w1 | start a w1 | assign b w2 | start b w2
            complete b w2
            complete a w1
            assign c w2 | w2 by predictive: predicted best; score 900000, wait 0 us, duration 1.0 s; w1 500000
        "#]],
    );
}

#[test]
fn least_loaded_looks_at_load_alone() {
    check(
        "
        config strategy=least_loaded
        worker w1 slots=2; worker w2 slots=2; worker w3 slots=2
        submit a; submit b; submit c; submit d
        decision d
        complete b; submit e; decision e
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w2 | assign c w3 | assign d w1
            w1 by least_loaded: least loaded, depth 1; score 700000, wait 0 us, duration 5.0 s; w2 700000; w3 700000
            complete b w2 | assign e w2 | w2 by least_loaded: least loaded, depth 0; score 900000, wait 0 us, duration 3 us; w3 700000
        "#]],
    );
}

#[test]
fn round_robin_takes_turns_also_across_a_restart() {
    check(
        "
        config strategy=round_robin
        worker w1 slots=9; worker w2 slots=9; worker w3 slots=9
        submit a; submit b; restart; submit c; restart snapshot; submit d
        decision d
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w2 | assign c w3 | assign d w1
            w1 by round_robin: next in turn; score 855600, wait 0 us, duration 5.0 s; w2 855600; w3 855600
        "#]],
    );
}

#[test]
fn affinity_prefers_data_then_habit_then_zone() {
    check(
        "
        config strategy=affinity
        worker w1 zone=west; worker w2 zone=east; worker w3 zone=east
        submit a type=x receiver=w3; complete a
        submit b type=x; decision b
        submit c type=y after=b; complete b; decision c
        submit d type=z after=c; submit e receiver=w3 priority=critical; complete c; decision d
        submit f type=new; decision f
        ",
        expect![[r#"
            configure v1
            assign a w3 | complete a w3
            assign b w3 | w3 by affinity: previously executed; score 900000, wait 0 us, duration 1 us; w1 900000; w2 900000
            complete b w3 | assign c w3 | w3 by affinity: data locality; score 900000, wait 0 us, duration 5.0 s; w1 900000; w2 900000
            complete c w3 | assign e w3 | assign d w2 | w2 by affinity: same zone; score 900000, wait 0 us, duration 5.0 s; w1 900000
            assign f w1 | w1 by affinity: only worker; score 900000, wait 0 us, duration 5.0 s
        "#]],
    );
}

#[test]
fn random_is_a_stable_hash() {
    let script = "
        config strategy=random
        worker w1 slots=9; worker w2 slots=9; worker w3 slots=9
        submit a; submit b; submit c; submit d; submit e
        decision e
        ";
    check(
        script,
        expect![[r#"
        configure v1
        assign a w3 | assign b w2 | assign c w1 | assign d w2 | assign e w3
        w3 by random: stable hash; score 855600, wait 0 us, duration 5.0 s; w1 855600; w2 811200
    "#]],
    );
}

#[test]
fn ties_break_by_least_use_and_then_by_id() {
    check(
        "
        worker w2; worker w1
        submit a; decision a
        ack a; wait 1s; complete a
        submit b; decision b
        complete b; submit c
        ",
        expect![[r#"
            assign a w1 | w1 by predictive: least loaded, depth 0; score 900000, wait 0 us, duration 5.0 s; w2 900000
            start a w1
            complete a w1
            assign b w2 | w2 by predictive: least loaded, depth 0; score 900000, wait 0 us, duration 1.0 s; w1 900000
            complete b w2 | assign c w2
        "#]],
    );
}

#[test]
fn the_only_worker_is_said_to_be_so() {
    check(
        "
        worker w1; submit a; decision a
        ",
        expect![[r#"
            assign a w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 5.0 s
        "#]],
    );
}

#[test]
fn a_resource_fit_names_what_is_free_and_required() {
    check(
        "
        worker w1 slots=4 cpu=1000 memory=1000; worker w2 slots=4 cpu=4000 memory=4000
        submit a receiver=w1 cpu=800
        submit b cpu=500 memory=700; decision b
        ",
        expect![[r#"
            assign a w1
            assign b w2 | w2 by predictive: resource fit, cpu 500 of 4000, memory 700 of 4000; score 900000, wait 0 us, duration 5.0 s
        "#]],
    );
}

#[test]
fn a_decision_names_the_best_losers() {
    check(
        "
        worker w1 slots=2; worker w2 slots=2; worker w3 slots=2; worker w4 slots=2; worker w5 slots=2
        submit a receiver=w1; submit b receiver=w2; submit c; decision c
        ",
        expect![[r#"
            assign a w1 | assign b w2 | assign c w3 | w3 by predictive: least loaded, depth 0; score 900000, wait 0 us, duration 5.0 s; w4 900000; w5 900000; w1 700000
        "#]],
    );
}

#[test]
fn the_score_weighs_wait_load_and_priority() {
    check(
        "
        worker w1 slots=4; worker w2 slots=4
        submit a priority=critical; decision a
        submit b priority=low; decision b
        config weights=0,1000,0
        submit c; decision c
        config weights=0,0,1000
        submit d priority=high; decision d
        ",
        expect![[r#"
            assign a w1 | w1 by predictive: least loaded, depth 0; score 1000000, wait 0 us, duration 5.0 s; w2 1000000
            assign b w2 | w2 by predictive: least loaded, depth 0; score 850000, wait 0 us, duration 5.0 s; w1 750000
            configure v1
            assign c w1 | w1 by predictive: least loaded, depth 1; score 750000, wait 0 us, duration 5.0 s; w2 750000
            configure v2
            assign d w1 | w1 by predictive: least loaded, depth 2; score 750000, wait 0 us, duration 5.0 s; w2 750000
        "#]],
    );
}

#[test]
fn load_that_is_not_ours_counts_and_decays() {
    check(
        "
        worker w1 slots=10; worker w2 slots=10
        beat w1 load=400
        submit a; decision a
        silence w1; silence w2; wait 15s
        submit b; decision b
        ",
        expect![[r#"
            report w1 load=400 queue=0
            assign a w2 | w2 by predictive: least loaded, depth 0; score 900000, wait 0 us, duration 5.0 s; w1 740400
            [500.0 ms] hedge a w1
            assign b w2 | w2 by predictive: least loaded, depth 1; score 860000, wait 0 us, duration 5.0 s; w1 780400
        "#]],
    );
}

#[test]
fn the_plain_formula_weighs_waits_against_the_longest_of_them() {
    check(
        "
        config strategy=formula
        worker w1 slots=10; worker w2 slots=10; worker w3 slots=10
        beat w1 queue=2; beat w2 queue=1 load=500
        submit a; decision a
        ",
        expect![[r#"
            configure v1
            report w1 load=0 queue=2 | report w2 load=500 queue=1
            assign a w3 | w3 by formula: predicted best; score 900000, wait 0 us, duration 5.0 s; w2 500400; w1 500000
        "#]],
    );
}

#[test]
fn points_of_priorities_are_as_configured() {
    check(
        "
        config critical=80
        worker w1; submit a priority=critical; decision a
        ",
        expect![[r#"
            configure v1
            assign a w1 | w1 by predictive: only worker; score 960000, wait 0 us, duration 5.0 s
        "#]],
    );
}

#[test]
fn a_single_job_in_a_queue_that_is_not_ours_counts_until_the_report_is_old() {
    check(
        "
        worker w1 slots=10; worker w2 slots=10
        beat w1 queue=1; wait 1s
        submit a; decision a
        ",
        expect![[r#"
            report w1 load=0 queue=1
            assign a w2 | w2 by predictive: predicted best; score 900000, wait 0 us, duration 5.0 s; w1 500000
        "#]],
    );
}

#[test]
fn a_queue_that_is_not_ours_is_waited_for() {
    check(
        "
        worker w1 slots=10; worker w2 slots=10
        beat w1 queue=2
        submit a; decision a
        ",
        expect![[r#"
            report w1 load=0 queue=2
            assign a w2 | w2 by predictive: predicted best; score 900000, wait 0 us, duration 5.0 s; w1 500000
        "#]],
    );
}
