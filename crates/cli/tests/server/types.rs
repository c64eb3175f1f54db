//! Two kinds of workers in one fleet: no job goes to the wrong one.

use crate::fixture::World;

#[test]
fn jobs_go_only_to_workers_that_handle_their_type() {
    let world = World::new();
    let _exec = world.worker("exec-worker", &[]);
    let _echo = world.worker("echo-worker", &["--type", "echo=cat"]);
    // Both take exec; only one takes echo.
    let mut jobs = Vec::new();
    for number in 0..12 {
        let id = format!("echo-{number}");
        world.fine(&["submit", "--type", "echo", "--id", &id, "--payload", "\"hello\""]);
        jobs.push(id);
    }
    for id in &jobs {
        world.wait_for(id, "completed");
        let job = world.json(&["job", id, "--json"]);
        assert_eq!(job["attempts"][0]["worker"], "echo-worker", "{job}");
        assert_eq!(job["attempts"].as_array().unwrap().len(), 1, "{job}");
        assert_eq!(job["result"]["stdout"], "\"hello\"", "{job}");
    }
}

/// An exec worker and one of the library that handles `resize` alone: each would fail the other's jobs.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_kinds_of_workers_neither_gets_the_others_jobs() {
    let world = World::new();
    let _exec = world.worker("exec-worker", &[]);
    let handler = |context: bellwether_sdk::Context| async move {
        bellwether_sdk::Outcome::done(context.payload().clone())
    };
    let resize = bellwether_sdk::Worker::builder(&world.address).id("resize-worker").slots(2);
    let _resize = resize.job("resize", handler).start().unwrap();
    let mut wanted = Vec::new();
    for number in 0..12 {
        let (resize, exec) = (format!("resize-{number}"), format!("exec-{number}"));
        world.fine(&["submit", "--type", "resize", "--id", &resize, "--payload", "800"]);
        world.submit_exec(&exec, "echo $BELLWETHER_JOB", &[]);
        wanted.extend([(resize, "resize-worker"), (exec, "exec-worker")]);
    }
    for (id, worker) in &wanted {
        world.wait_for(id, "completed");
        let job = world.json(&["job", id, "--json"]);
        let attempts = job["attempts"].as_array().unwrap();
        assert!(attempts.len() == 1 && attempts[0]["worker"] == *worker, "{job}");
    }
    let ran = world.json(&["job", "exec-7", "--json"]);
    assert_eq!(ran["result"]["stdout"], "exec-7\n", "{ran}");
}

#[test]
fn a_type_that_nobody_handles_waits_and_says_so() {
    let world = World::new();
    let _exec = world.worker("exec-worker", &[]);
    world.fine(&["submit", "--type", "resize", "--id", "a", "--retry", "1"]);
    let why = world.json(&["explain", "a", "--json"]);
    assert_eq!(why["waiting_for"]["reason"], "missing_type", "{why}");
    assert!(why["summary"].to_string().contains("no handler for the type resize"), "{why}");
    let _resize = world.worker("resize-worker", &["--type", "resize=wc -c"]);
    world.wait_for("a", "completed");
    assert_eq!(world.json(&["job", "a", "--json"])["attempts"].as_array().unwrap().len(), 1);
}

#[test]
fn commands_of_one_kind_are_predicted_by_their_like() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    world.fine(&["run", "--type", "sleep", "--", "sleep", "0.1"]);
    world.fine(&["run", "--type", "echo", "--", "echo", "hello"]);
    let predictions = world.json(&["predictions", "--json"]);
    let text = predictions.to_string();
    assert!(text.contains("exec/sleep") && text.contains("exec/echo"), "{text}");
}

#[test]
fn a_command_that_waits_says_what_for_and_an_interrupt_cancels_it() {
    let world = World::new();
    let mut waiting = world.follow(&["run", "--id", "j", "--", "true"]);
    waiting.says("no worker is registered");
    waiting.process.signal(rustix::process::Signal::INT);
    waiting.says("cancelling job j");
    assert_eq!(waiting.process.0.wait().unwrap().code(), Some(5));
    assert_eq!(world.state("j"), "cancelled");
}
