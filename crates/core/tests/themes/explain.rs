//! Why a job is where it is, in one sentence.

use expect_test::expect;

use crate::script::{World, check, run};

#[test]
fn it_waits_for_dependencies_by_name() {
    check(
        "
        worker w1 slots=2; run r: a, b, c after=a+b
        why c
        ack a; complete a; why c
        submit d1 d2 d3 d4 d5 d6 d7
        submit e after=d1+d2+d3+d4+d5+d6+d7; why e
        ",
        expect![[r#"
            assign a w1 | assign b w1
            job c waits for a (offered), b (offered)
            start a w1 | complete a w1 | job c waits for b (offered)
            assign d1 w1
            job e waits for d1 (offered), d2 (ready), d3 (ready), d4 (ready), d5 (ready) and 2 more
        "#]],
    );
}

#[test]
fn it_waits_for_its_moment() {
    check(
        "
        worker w1; submit a delay=90s; why a
        submit b; fail b; why b
        wait 2s; fail b; why b
        ",
        expect![[r#"
            job a is not to start for another 90.0 s
            assign b w1 | attempt b w1 Failed: boom | requeue b in 547.8 ms | job b is tried again in 547.8 ms, after 1 attempt
            [547.8 ms] due b | assign b w1
            attempt b w1 Failed: boom | requeue b in 1.9 s | job b is tried again in 1.9 s, after 2 attempts
        "#]],
    );
}

#[test]
fn its_type_is_paused() {
    check(
        "worker w1; pause t; submit a; why a",
        expect![[r#"
        pause t | job a waits because the type t is paused
    "#]],
    );
}

#[test]
fn there_is_no_worker() {
    check(
        "submit a; why a",
        expect![[r#"
        job a waits because no worker is registered
    "#]],
    );
    check(
        "submit a receiver=w9; why a",
        expect![[r#"
        job a may run on worker w9 alone, which is not registered
    "#]],
    );
}

#[test]
fn no_present_worker_can_run_it() {
    check(
        "worker w1; submit a role=painter; why a",
        expect![[r#"
        no present worker can run job a: worker w1 falls short, it lacks the role painter
    "#]],
    );
    check(
        "worker w1 cap=x; worker w2 cap=x+y; worker w3; submit a cap=x+y+z; why a",
        expect![[r#"
            no present worker can run job a: of 3, worker w2 comes nearest, but it lacks the capability z
        "#]],
    );
    check(
        "worker w1; worker w2 role=r; submit a role=r model=sdxl; why a",
        expect![[r#"
        no present worker can run job a: of 2, worker w2 comes nearest, but it does not have the model sdxl and loads none
    "#]],
    );
    check(
        "worker w1 cpu=1000; worker w2 cpu=2000; submit a cpu=4000; why a",
        expect![[r#"
        no present worker can run job a: of 2, worker w2 comes nearest, but it has 2000 millicores of the 4000 required
    "#]],
    );
    check(
        "worker w1 memory=100; submit a memory=200; why a",
        expect![[r#"
        no present worker can run job a: worker w1 falls short, it has 100 bytes of memory of the 200 required
    "#]],
    );
    check(
        "worker w1; worker w2; submit a receiver=w1 cap=gpu; why a",
        expect![[r#"
        no present worker can run job a: worker w1 falls short, it lacks the capability gpu
    "#]],
    );
}

#[test]
fn those_who_could_take_no_jobs_now() {
    check(
        "
        worker w1; worker w2; worker w3; worker w4 cap=gpu; silence w3; wait 31s
        drain w1; beat w2 overloaded
        submit other cap=gpu
        submit a receiver=w1; why a
        submit b receiver=w3; why b
        drain w4; submit c; why c
        ",
        expect![[r#"
            [30.0 s] lost w3
            drain w1 | report w2 load=0 queue=0 overloaded
            assign other w4
            job a waits because w1 is draining
            job b waits because w3 is unreachable
            drain w4 | job c waits because w1, w4 are draining and w2 is overloaded and w3 is unreachable
        "#]],
    );
}

#[test]
fn all_that_could_are_busy() {
    check(
        "
        config duration=long:60s
        worker w1; worker w2; submit a type=long; submit b type=long; ack a; ack b
        submit c type=long; why c
        submit d type=long; submit e; why e; why d
        submit f type=long; why f
        ",
        expect![[r#"
            configure v1
            assign a w1 | assign b w2 | start a w1 | start b w2
            job c waits because all 2 workers that can run it are busy; it is next, expected to start in about 59.9 s
            job e waits because all 2 workers that can run it are busy; it is next, expected to start in about 59.9 s | job d waits because all 2 workers that can run it are busy; 2 jobs go first, 1 of its own kind, expected to start in about 119.9 s
            job f waits because all 2 workers that can run it are busy; 3 jobs go first, 2 of its own kind, expected to start in about 119.9 s
        "#]],
    );
    check(
        "worker w1; submit a; submit b; why b; wait 20s; why b",
        expect![[r#"
        assign a w1 | job b waits because the one worker that can run it is busy; it is next, expected to start in about 4.9 s
        job b waits because the one worker that can run it is busy; it is next, expected to start in about 7.5 s
    "#]],
    );
}

#[test]
fn only_those_who_compete_for_the_same_workers_go_first() {
    check(
        "
        worker w1; worker w2; submit a; submit b; ack a; ack b
        submit x receiver=w2; submit y receiver=w2; submit z role=absent
        submit c receiver=w1; why c
        submit d; why d
        ",
        expect![[r#"
            assign a w1 | assign b w2 | start a w1 | start b w2
            job c waits because the one worker that can run it is busy; it is next, expected to start in about 4.9 s
            job d waits because all 2 workers that can run it are busy; 3 jobs go first, expected to start in about 9.9 s
        "#]],
    );
}

#[test]
fn it_is_placed() {
    check(
        "
        worker w1; worker w2; submit a; wait 200ms; why a
        wait 1s; why a
        ack a by=w1; wait 3s; why a
        ",
        expect![[r#"
            assign a w1
            job a was offered to worker w1 200.0 ms ago, which has not answered
            [500.0 ms] hedge a w2
            job a was offered to worker w1 1.2 s ago, which has not answered and was offered to worker w2 as well 700.0 ms ago
            revoke a w2 HedgeLost | start a w1
            job a runs on worker w1 for 3.0 s
        "#]],
    );
}

#[test]
fn it_has_ended() {
    check(
        "
        worker w1
        submit a; complete a; why a
        submit b; wait 2s; cancel b; wait 2s; why b
        submit c retry=0; fail c; why c
        submit d; fail d permanently; why d
        submit e after=d; why e
        submit f; submit g after=f; fail f permanently; why g
        submit h; ack h; reconnect w1 new
        ack h; reconnect w1 new; ack h; reconnect w1 new
        why h
        submit i guarantee=at_most_once; ack i; reconnect w1 new; why i
        ",
        expect![[r#"
            assign a w1 | complete a w1 | job a completed just now
            assign b w1
            revoke b w1 Cancelled | cancel b: on request
            job b was cancelled 2.0 s ago
            assign c w1 | attempt c w1 Failed: boom | dead c RetriesUsedUp | job c was dead-lettered just now: it failed, and was not to be retried
            assign d w1 | attempt d w1 Permanent: boom | fail d Permanent | job d failed for good just now: its worker said that no retry will help
            skip e because e | job e was skipped just now because a dependency did not complete
            assign f w1 | attempt f w1 Permanent: boom | fail f Permanent | skip g because f | job g was skipped just now because f did not complete
            assign h w1 | start h w1 | attempt h w1 WorkerLost: the worker was restarted | requeue h in 0 us | assign h w1
            start h w1 | attempt h w1 WorkerLost: the worker was restarted | requeue h in 0 us | assign h w1 | start h w1 | attempt h w1 WorkerLost: the worker was restarted | dead h Poison
            job h was dead-lettered just now: 3 workers died with it
            assign i w1 | start i w1 | attempt i w1 WorkerLost: the worker was restarted | fail i WorkerLost | job i failed for good just now: its worker was lost and it is not to be dispatched twice
        "#]],
    );
}

#[test]
fn it_is_unknown() {
    let (world, _) = run(World::new(Default::default()), "");
    let why = world.engine.state().why(bellwether_core::model::JobNo(7), world.now);
    expect!["job number 7 is not known; it may have ended and left the queue"]
        .assert_eq(&why.to_string());
}

#[test]
fn a_long_queue_is_counted_only_so_far() {
    let jobs: Vec<String> = (0..10_010).map(|number| format!("j{number}")).collect();
    check(
        &format!("worker w1\nsubmit first\nrun r: {}\nsubmit z; why z", jobs.join(",")),
        expect![[r#"
            assign first w1
            job z waits because the one worker that can run it is busy; 10000 jobs or more go first, expected to start in about 50004.9 s
        "#]],
    );
}
