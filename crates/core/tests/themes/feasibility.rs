//! Only workers that can run a job are ever chosen: each rule once, with the worker that breaks it
//! standing idle beside the queue.

use expect_test::expect;

use crate::script::check;

#[test]
fn not_an_overloaded_worker() {
    check(
        "
        worker w1; beat w1 overloaded
        submit a; wait 20s; why a
        beat w1
        ",
        expect![[r#"
            report w1 load=0 queue=0 overloaded
            job a waits because w1 is overloaded
            report w1 load=0 queue=0 | assign a w1
        "#]],
    );
}

#[test]
fn not_a_draining_worker() {
    check(
        "worker w1; drain w1; submit a; wait 20s; why a",
        expect![[r#"
        drain w1
        job a waits because w1 is draining
    "#]],
    );
}

#[test]
fn not_an_unreachable_worker() {
    check(
        "
        worker w1; silence w1; wait 40s
        submit a; why a
        ",
        expect![[r#"
            [30.0 s] lost w1
            job a waits because w1 is unreachable
        "#]],
    );
}

#[test]
fn an_overloaded_worker_that_returns_is_still_overloaded() {
    check(
        "
        worker w1; beat w1 overloaded; silence w1; wait 31s
        reconnect w1; beat w1 overloaded
        submit a; why a
        beat w1
        ",
        expect![[r#"
            report w1 load=0 queue=0 overloaded
            [30.0 s] lost w1
            return w1
            job a waits because w1 is overloaded
            report w1 load=0 queue=0 | assign a w1
        "#]],
    );
}

#[test]
fn every_capability_is_needed() {
    check(
        "
        worker w1 cap=gpu; submit a cap=gpu+avx
        why a
        worker w2 cap=avx+gpu+more
        ",
        expect![[r#"
            no present worker can run job a: worker w1 falls short, it lacks the capability avx
            assign a w2
        "#]],
    );
}

#[test]
fn free_cpu_and_memory_are_needed_not_only_a_slot() {
    check(
        "
        worker w1 slots=8 cpu=1000 memory=100
        submit a cpu=600; submit b cpu=600; submit c memory=60; submit d memory=60
        why b
        complete a; complete c
        ",
        expect![[r#"
            assign a w1 | assign c w1
            job b waits because the one worker that can run it is busy (w1 has a slot, but 400 millicores are free of the 600 required); it is next, expected to start in about 4.9 s
            complete a w1 | assign b w1 | complete c w1 | assign d w1
        "#]],
    );
}

#[test]
fn a_worker_without_limits_takes_any_size() {
    check(
        "worker w1; submit a cpu=64000 memory=999999999",
        expect![[r#"
        assign a w1
    "#]],
    );
}

#[test]
fn a_free_slot_is_needed() {
    check(
        "
        worker w1 slots=2; submit a; submit b; submit c
        complete b
        ",
        expect![[r#"
            assign a w1 | assign b w1
            complete b w1 | assign c w1
        "#]],
    );
}

#[test]
fn short_jobs_are_sent_ahead_of_a_free_slot() {
    check(
        "
        config duration=tiny:10ms prefetch=1
        worker w1
        submit a type=tiny; submit b type=tiny; submit c type=tiny
        decision b; why c
        complete a; complete b; complete c
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w1
            w1 by predictive: only worker; score 500000, wait 50.0 ms, duration 10.0 ms | job c waits because the one worker that can run it is busy; it is next, expected to start in about 9.9 ms
            complete a w1 | assign c w1 | complete b w1 | complete c w1
        "#]],
    );
}

#[test]
fn nothing_is_sent_ahead_behind_a_long_job() {
    check(
        "
        config duration=tiny:10ms prefetch=1
        worker w1; submit a; submit b type=tiny
        ",
        expect![[r#"
            configure v1
            assign a w1
        "#]],
    );
}

#[test]
fn the_queue_of_a_worker_is_bounded() {
    check(
        "
        config duration=tiny:10ms prefetch=5 max_queue_per_worker=2
        worker w1
        submit a type=tiny; submit b type=tiny; submit c type=tiny; submit d type=tiny
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w1 | assign c w1
        "#]],
    );
    check(
        "
        config duration=tiny:10ms prefetch=0
        worker w1; submit a type=tiny; submit b type=tiny
        ",
        expect![[r#"
            configure v1
            assign a w1
        "#]],
    );
}

#[test]
fn jobs_that_are_over_at_once_are_sent_in_a_stream_that_swells() {
    check(
        "
        config duration=blink:500us prefetch_max=3 max_queue_per_worker=1
        worker w1
        submit a type=blink; submit b type=blink; submit c type=blink; submit d type=blink
        submit e type=blink; complete a
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w1 | assign c w1 | assign d w1
            complete a w1 | assign e w1
        "#]],
    );
}

#[test]
fn behind_what_is_over_at_once_no_more_long_jobs_wait_than_there_are_slots() {
    check(
        "
        config duration=blink:500us prefetch_max=9
        worker w1 slots=2
        submit a type=blink; submit b type=blink; submit c; submit d; submit e
        complete a; complete b
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w1 | assign c w1 | assign d w1
            complete a w1 | complete b w1
        "#]],
    );
}

#[test]
fn a_worker_with_a_long_queue_of_its_own_gets_no_more() {
    check(
        "
        config max_queue_per_worker=3
        worker w1 slots=4; beat w1 queue=3
        submit a; why a
        beat w1 queue=2
        ",
        expect![[r#"
            configure v1
            report w1 load=0 queue=3
            job a waits because the one worker that can run it is busy (w1 comes nearest, but 3 jobs wait in its own queue, of 3 allowed); it is next
            report w1 load=0 queue=2 | assign a w1
        "#]],
    );
}

#[test]
fn a_free_slot_is_better_than_being_sent_ahead() {
    check(
        "
        config duration=tiny:10ms prefetch=1
        worker w1; worker w2
        submit a type=tiny; submit b type=tiny; submit c type=tiny
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w2 | assign c w1
        "#]],
    );
}

#[test]
fn a_blocked_job_does_not_block_others() {
    check(
        "
        worker w1
        submit a role=absent priority=critical; submit b receiver=nobody; submit c
        ",
        expect![[r#"
            assign c w1
        "#]],
    );
}

#[test]
fn a_worker_that_comes_later_is_used_at_once() {
    check(
        "
        submit a role=r; submit b receiver=w2; submit c cap=gpu; submit d model=m
        worker w1 role=r; worker w2; worker w3 cap=gpu; worker w4 loads
        ",
        expect![[r#"
            assign a w1 | assign b w2 | assign c w3 | assign d w4
        "#]],
    );
}
