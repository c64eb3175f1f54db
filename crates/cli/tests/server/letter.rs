//! The letter of what was asked for, as somebody at the command line meets it.

use serde_json::Value;

use crate::fixture::{World, wait_until};

#[test]
fn on_a_game_day_the_predictor_fails_jobs_go_on_and_it_is_told() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    world.fine(&["config", "set", "predictor=failing"]);
    for number in 0..4 {
        world.submit_exec(&format!("j{number}"), "true", &["--wait"]);
    }
    let events = world.lines(&["events", "--json", "--kind", "predictor_failed"]);
    assert!(
        events[0]["payload"]["error"].as_str().is_some_and(|why| why.contains("configured to"))
    );
    wait_until("the breaker is open", || world.json(&["status", "--json"])["breaker"] == "open");
    let told = world.fine(&["explain", "j3"]);
    assert!(told.contains("worker w1 was chosen because"), "{told}");
    world.fine(&["config", "set", "predictor=auto"]);
    world.submit_exec("after", "true", &["--wait"]);
}

#[test]
fn the_formula_and_the_moving_average_are_a_word_away() {
    let world = World::new();
    let (_first, _second) = (world.worker("w1", &[]), world.worker("w2", &[]));
    world.fine(&["config", "set", "strategy=formula", "predictor=ema"]);
    world.submit_exec("by-formula", "true", &["--wait"]);
    let decisions = world.lines(&["decisions", "--job", "by-formula", "--json"]);
    assert_eq!(decisions[0]["strategy"], "formula", "{decisions:?}");
    // Beside ours, to show which is better.
    world.fine(&["config", "set", "strategy=predictive"]);
    world.fine(&["shadow", "--set", "formula"]);
    world.submit_exec("in-the-shadow", "true", &["--wait"]);
    let told = world.fine(&["explain", "in-the-shadow"]);
    assert!(told.contains("the shadow policy"), "{told}");
    assert!(world.fine(&["shadow"]).starts_with("live predictive, shadow formula: 1 decision,"));
}

#[test]
fn a_retry_goes_to_another_worker_than_the_one_that_failed() {
    let world = World::with(|folder| {
        let file = folder.join("scheduler.yaml");
        std::fs::write(&file, "retry_base: 10ms\n").expect("the folder is writable");
        vec!["--config".to_owned(), file.display().to_string()]
    });
    let (_first, _second) = (world.worker("w1", &[]), world.worker("w2", &[]));
    for number in 0..5 {
        let id = format!("j{number}");
        world.submit_exec(&id, "exit 3", &["--retry", "1"]);
        world.wait_for(&id, "dead_lettered");
        let job = world.json(&["job", &id, "--json"]);
        let attempts = job["attempts"].as_array().expect("it was tried");
        let workers: Vec<&Value> = attempts.iter().map(|attempt| &attempt["worker"]).collect();
        assert_eq!(workers.len(), 2, "{job}");
        assert_ne!(workers[0], workers[1], "{job}");
    }
}

#[test]
fn words_of_yaml_are_the_words_that_they_are() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let file = world.path("run.yaml");
    let text = "jobs:\n  say: {type: exec, array: [y, no, off], \
                payload: {argv: [echo, \"{{item}}\", n, yes, on]}}\n";
    std::fs::write(&file, text).unwrap();
    let run = world.json(&["submit", file.to_str().unwrap(), "--json"]);
    let run = run["run"].as_str().expect("it is a run").to_owned();
    for (number, word) in [(1, "y"), (2, "no"), (3, "off")] {
        let id = format!("{run}/say[{number}]");
        world.wait_for(&id, "completed");
        assert_eq!(world.fine(&["logs", &id]), format!("{word} n yes on\n"));
    }
}
