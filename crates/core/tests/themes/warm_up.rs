//! Models: warm workers first, loading told and counted.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_warm_worker_wins() {
    check(
        "
        worker w1 loads; worker w2 loads model=sdxl
        submit a model=sdxl; decision a
        ",
        expect![[r#"
            assign a w2 | w2 by predictive: predicted best; score 900000, wait 0 us, duration 5.0 s; w1 500000
        "#]],
    );
}

#[test]
fn a_cold_worker_is_told_to_load_and_the_load_counts() {
    check(
        "
        worker w1 loads
        submit a model=sdxl; decision a; effects
        ",
        expect![[r#"
            assign a w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 15.0 s, loads the model | offer a w1 number 1 load sdxl
        "#]],
    );
}

#[test]
fn a_loaded_model_makes_a_worker_warm() {
    check(
        "
        worker w1 loads
        submit a model=sdxl
        loaded w1 sdxl took=4s; loaded w1 sdxl took=4s
        complete a; submit b model=sdxl; decision b
        ",
        expect![[r#"
            assign a w1
            warm w1 sdxl 4.0 s
            complete a w1 | assign b w1 | w1 by predictive: only worker; score 900000, wait 0 us, duration 3 us
        "#]],
    );
}

#[test]
fn what_loading_took_is_what_it_will_take() {
    check(
        "
        worker w1 loads slots=2; worker w2 loads
        submit a model=sdxl; loaded w1 sdxl took=4s
        complete a
        drain w1; submit b model=sdxl; decision b
        ",
        expect![[r#"
            assign a w1 | warm w1 sdxl 4.0 s
            complete a w1
            drain w1 | assign b w2 | w2 by predictive: only worker; score 900000, wait 0 us, duration 4.0 s, loads the model
        "#]],
    );
}

#[test]
fn a_cold_start_is_not_hedged_while_it_loads() {
    check(
        "
        worker w1 loads; worker w2 loads
        submit a model=sdxl
        wait 14s
        ack a; complete a
        ",
        expect![[r#"
            assign a w1
            start a w1 | complete a w1
        "#]],
    );
}

#[test]
fn a_new_process_is_cold_again() {
    check(
        "
        worker w1 loads; loaded w1 sdxl; reconnect w1 new
        submit a model=sdxl; effects
        ",
        expect![[r#"
            warm w1 sdxl 1.0 s
            assign a w1 | offer a w1 number 1 load sdxl
        "#]],
    );
}

#[test]
fn waiting_for_a_warm_worker_may_pay() {
    check(
        "
        worker w1 loads; worker w2 loads model=sdxl
        submit a model=sdxl; ack a
        submit b model=sdxl; why b
        wait 5s; complete a
        ",
        expect![[r#"
            assign a w2 | start a w2
            assign b w1 | job b was offered to worker w1 just now, which has not answered
            complete a w2
        "#]],
    );
}
