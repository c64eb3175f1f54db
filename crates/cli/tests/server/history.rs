//! The journal afterwards: replayed, saved and gone back to.

use serde_json::Value;

use crate::fixture::{World, bellwether};

fn replay(dir: &std::path::Path) -> (Option<i32>, Value) {
    let output = bellwether()
        .args(["replay", "--json", "--data-dir"])
        .arg(dir)
        .output()
        .expect("the binary was built for this test");
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), report)
}

/// A world in which some jobs have run on two workers.
fn worked() -> World {
    let world = World::new();
    let _workers = [world.worker("w1", &[]), world.worker("w2", &[])];
    for number in 0..10 {
        world.submit_exec(&format!("j{number}"), "true", &[]);
    }
    world.submit_exec("bad", "exit 1", &["--retry", "1"]);
    for number in 0..10 {
        world.wait_for(&format!("j{number}"), "completed");
    }
    world.wait_for("bad", "dead_lettered");
    world
}

#[test]
fn every_decision_can_be_recomputed_also_over_a_restart() {
    let mut world = worked();
    world.crash_and_restart();
    let _worker = world.worker("w3", &[]);
    world.submit_exec("later", "true", &[]);
    world.wait_for("later", "completed");
    world.stop();
    let (code, report) = replay(&world.data_dir());
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["mismatches"], 0, "{report}");
    assert!(report["decisions"].as_u64().unwrap() >= 12, "{report}");
    assert_eq!(report["chain_head"].as_str().unwrap().len(), 64);
}

#[test]
fn a_flipped_byte_fails_the_replay() {
    let mut world = worked();
    world.stop();
    flip_a_byte_of_a_job(&world.data_dir());
    let (code, _) = replay(&world.data_dir());
    assert_eq!(code, Some(1));
}

/// In whatever file the journal keeps it; the registry and the snapshots are not the journal.
fn flip_a_byte_of_a_job(dir: &std::path::Path) {
    let files = std::fs::read_dir(dir).expect("the data directory is there");
    for file in files {
        let path = file.expect("the data directory is readable").path();
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        if !name.starts_with("journal") {
            continue;
        }
        let mut bytes = std::fs::read(&path).expect("the journal is readable");
        if let Some(at) = bytes.windows(3).position(|window| window == b"bad") {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).expect("the journal is writable");
            return;
        }
    }
    panic!("no file of the journal holds the job");
}

#[test]
fn a_snapshot_restores_the_state_it_was_taken_of() {
    let mut world = World::new();
    world.submit_exec("before", "true", &[]);
    let file = world.path("saved");
    world.fine(&["snapshot", file.to_str().unwrap()]);
    world.submit_exec("after", "true", &[]);
    world.stop();

    let restored = world.path("restored");
    let (file, into) = (file.to_str().unwrap(), restored.to_str().unwrap());
    world.fine(&["restore", "--snapshot", file, "--into", into]);
    world.serve_on(&restored, "127.0.0.1:0");
    assert_eq!(world.state("before"), "ready");
    assert_eq!(world.run(&["job", "after"]).status.code(), Some(4));
    let _worker = world.worker("w1", &[]);
    world.wait_for("before", "completed");
    world.stop();
    assert_eq!(replay(&restored).0, Some(0));
}

#[test]
fn the_journal_can_be_gone_back_in() {
    let mut world = World::new();
    let payload = r#"{"argv":["true"]}"#;
    let submit = |world: &World, id: &str| {
        let arguments = ["submit", "--type", "exec", "--id", id, "--payload", payload, "--json"];
        world.json(&arguments)["position"].as_u64().unwrap()
    };
    let position = submit(&world, "before").to_string();
    submit(&world, "after");
    world.stop();
    let restored = world.path("restored");
    let (dir, into) = (world.data_dir(), restored.to_str().unwrap());
    let dir = dir.to_str().unwrap();
    let arguments = ["restore", "--data-dir", dir, "--to", &position, "--into", into, "--json"];
    assert_eq!(world.json(&arguments)["position"].to_string(), position);
    assert_eq!(world.run(&arguments).status.code(), Some(3), "nothing is overwritten");
    world.serve_on(&restored, "127.0.0.1:0");
    assert_eq!(world.state("before"), "ready");
    assert_eq!(world.run(&["job", "after"]).status.code(), Some(4));
}

#[test]
fn events_tell_the_life_of_a_job() {
    let world = worked();
    let events = world.lines(&["events", "--job", "j1", "--json"]);
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["job_submitted", "task_assigned", "job_started", "job_completed"]);
}
