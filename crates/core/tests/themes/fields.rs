//! Every field of a job does what it says.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_job_goes_from_submission_to_result() {
    check(
        "
        worker w1
        submit a
        ack a; complete a; state a
        effects
        ",
        expect![[r#"
            assign a w1
            start a w1 | complete a w1 | a completed, failures 0, crashes 0, returns 0
            offer a w1 number 1 | ended a
        "#]],
    );
}

#[test]
fn higher_priority_goes_first_among_equals() {
    check(
        "
        worker w1; submit first
        submit low priority=low; submit normal; submit high priority=high
        submit critical priority=critical
        complete first; complete critical; complete high; complete normal; complete low
        ",
        expect![[r#"
            assign first w1
            complete first w1 | assign critical w1 | complete critical w1 | assign high w1 | complete high w1 | assign normal w1 | complete normal w1 | assign low w1 | complete low w1
        "#]],
    );
}

#[test]
fn shorter_work_goes_first() {
    check(
        "
        config duration=long:60s duration=short:1s
        worker w1; submit first
        submit a type=long; submit b type=short
        complete first; complete b
        ",
        expect![[r#"
            configure v1
            assign first w1
            complete first w1 | assign b w1 | complete b w1 | assign a w1
        "#]],
    );
}

#[test]
fn a_timeout_ends_the_attempt_and_counts_as_a_failure() {
    check(
        "
        worker w1
        submit a timeout=2s retry=0
        ack a; wait 3s
        state a
        ",
        expect![[r#"
            assign a w1
            start a w1
            [2.0 s] attempt a w1 TimedOut: ran longer than 2.0 s | dead a RetriesUsedUp
            a dead_lettered, failures 1, crashes 0, returns 0
        "#]],
    );
}

#[test]
fn the_default_timeout_is_90_seconds() {
    check(
        "
        worker w1
        submit a; ack a; wait 89s; state a
        wait 2s
        ",
        expect![[r#"
            assign a w1 | start a w1
            a running on w1, failures 0, crashes 0, returns 0
            [90.0 s] attempt a w1 TimedOut: ran longer than 90.0 s | requeue a in 764.5 ms
            [90.7 s] due a | assign a w1
        "#]],
    );
}

#[test]
fn the_default_is_3_retries() {
    check(
        "
        worker w1; submit a
        fail a; wait 1s; fail a; wait 2s; fail a; wait 4s; fail a
        ",
        expect![[r#"
            assign a w1
            attempt a w1 Failed: boom | requeue a in 764.5 ms
            [764.5 ms] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 1.7 s
            [2.7 s] due a | assign a w1
            attempt a w1 Failed: boom | requeue a in 3.0 s
            [6.0 s] due a | assign a w1
            attempt a w1 Failed: boom | dead a RetriesUsedUp
        "#]],
    );
}

#[test]
fn a_receiver_is_the_one_worker() {
    check(
        "
        worker w1; worker w2
        submit a receiver=w2; submit b receiver=w2
        complete a
        ",
        expect![[r#"
            assign a w2
            complete a w2 | assign b w2
        "#]],
    );
}

#[test]
fn a_role_is_any_worker_with_it() {
    check(
        "
        worker w1; worker w2 role=painter; worker w3 role=painter+writer
        submit a role=painter; submit b role=painter; submit c role=writer
        complete b
        ",
        expect![[r#"
            assign a w2 | assign b w3
            complete b w3 | assign c w3
        "#]],
    );
}

#[test]
fn a_delay_and_a_moment_are_waited_for_whichever_is_later() {
    check(
        "
        worker w1
        submit a delay=2s not_before=1s; submit b delay=1s not_before=4s; submit c not_before=3s
        wait 2s
        ack a; complete a
        wait 3s
        ",
        expect![[r#"
            [2.0 s] due a | assign a w1
            start a w1 | complete a w1
            [3.0 s] due c | assign c w1
            [4.0 s] due b
        "#]],
    );
}

#[test]
fn a_model_must_be_warm_where_workers_load_none() {
    check(
        "
        worker w1; worker w2 model=llama+sdxl
        submit a model=sdxl; submit b model=sdxl; decision a
        ",
        expect![[r#"
            assign a w2 | w2 by predictive: only worker; score 900000, wait 0 us, duration 5.0 s
        "#]],
    );
}

#[test]
fn sender_tags_node_and_payload_travel_with_the_job() {
    let script = "submit a sender=alice tags=x+y node=n payload=hello";
    let (world, _) = crate::script::run(crate::script::World::new(Default::default()), script);
    let state = world.engine.state();
    let spec = &state.job(state.job_no("a").unwrap()).unwrap().spec;
    expect![[r#"Some("alice") ["x", "y"] Some("n") b"hello" 5 bytes"#]].assert_eq(&format!(
        "{:?} {:?} {:?} {:?} {} bytes",
        spec.sender,
        spec.tags,
        spec.node,
        spec.payload,
        spec.input_bytes()
    ));
}

#[test]
fn progress_keeps_an_attempt_alive_until_it_stalls() {
    check(
        "
        worker w1; submit a timeout=300s retry=0
        ack a; progress a permille=100 note=loading
        wait 29s; progress a permille=2000
        wait 31s
        ",
        expect![[r#"
            assign a w1
            start a w1 | progress a 100 loading
            progress a 1000
            [59.0 s] attempt a w1 Stalled: no progress for 30.0 s | dead a RetriesUsedUp
        "#]],
    );
}

#[test]
fn without_any_progress_report_only_the_timeout_counts() {
    check(
        "
        worker w1; submit a; ack a
        wait 80s; state a; complete a
        ",
        expect![[r#"
            assign a w1 | start a w1
            a running on w1, failures 0, crashes 0, returns 0 | complete a w1
        "#]],
    );
}
