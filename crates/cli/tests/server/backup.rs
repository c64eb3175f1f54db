//! Backups that are taken while the scheduler works, and what is made of them.

use std::path::Path;

use serde_json::Value;

use crate::fixture::{World, wait_until};

/// Of a file of the journal, and of a payload that fills it soon.
const SEGMENT_BYTES: usize = 64 << 20;
const LARGE_BYTES: usize = 1_000_000;

fn world(journal: &str) -> World {
    World::with(|folder| {
        let file = folder.join("scheduler.yaml");
        let settings = format!("journal: {journal}\nretry_default: 1\nretry_base: 10ms\n");
        std::fs::write(&file, settings).expect("the folder is writable");
        vec!["--config".to_owned(), file.display().to_string()]
    })
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// What is told of a job, without what depends on when it is asked.
fn told(world: &World, id: &str) -> Value {
    let mut job = world.json(&["job", id, "--json"]);
    let fields = job.as_object_mut().expect("a job is an object");
    fields.retain(|name, _| !["position", "explanation"].contains(&name.as_str()));
    job
}

fn position(world: &World) -> u64 {
    world.json(&["status", "--json"])["position"].as_u64().expect("a position")
}

/// One that completes, one that fails twice, one with a key, and a run.
fn do_work(world: &World) {
    world.submit_exec("good", "echo said; exit 0", &["--wait"]);
    world.submit_exec("bad", "echo wrong >&2; exit 3", &[]);
    world.wait_for("bad", "dead_lettered");
    world.submit_exec("keyed", "true", &["--idempotency-key", "once", "--wait"]);
}

fn is_all_there(world: &World, before: &[(&str, Value)]) {
    for (id, job) in before {
        assert_eq!(told(world, id), *job, "{id}");
        let decided = world.lines(&["decisions", "--job", id, "--json"]);
        let attempts = job["attempts"].as_array().expect("a job has attempts");
        assert_eq!(decided.len(), attempts.len(), "{id}: {decided:?}");
    }
    assert_eq!(world.fine(&["logs", "good"]), "said\n");
    let again = ["submit", "--type", "exec", "--idempotency-key", "once", "--payload"];
    let again = world.run(&[&again[..], &[r#"{"argv":["false"]}"#]].concat());
    assert_eq!(again.status.code(), Some(4), "the key stands for a job with another payload");
}

#[test]
fn a_backup_taken_under_load_has_results_attempts_decisions_and_output() {
    for journal in ["sqlite", "file"] {
        let mut world = world(journal);
        let _worker = world.worker("w1", &[]);
        do_work(&world);
        let before: Vec<(&str, Value)> =
            ["good", "bad", "keyed"].map(|id| (id, told(&world, id))).to_vec();
        let file = world.path("the.backup");
        let taken = std::thread::scope(|scope| {
            let busy = scope.spawn(|| {
                for number in 0..30 {
                    world.submit_exec(&format!("during-{number}"), "true", &[]);
                }
            });
            let taken = world.json(&["backup", text(&file), "--json"]);
            busy.join().unwrap();
            taken
        });
        assert!(position(&world) >= taken["position"].as_u64().unwrap());
        let checked = world.json(&["backup", text(&file), "--check", "--json"]);
        assert_eq!(checked["chain"], taken["chain"]);
        world.stop();

        let into = world.path("restored");
        let restored =
            world.json(&["restore", "--backup", text(&file), "--into", text(&into), "--json"]);
        assert_eq!(restored["position"], taken["position"]);
        assert_eq!(restored["chain"], taken["chain"]);
        let replayed = world.run(&["replay", "--data-dir", text(&into)]);
        assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
        world.serve_on(&into, "127.0.0.1:0");
        is_all_there(&world, &before);
        // Nothing is left over of the taking.
        assert!(!world.data_dir().join("backup.unfinished").exists());
    }
}

/// Snapshots of two moments: the journal forgets what lies before the first of them. Files are forgotten
/// as a whole, so there must be two of them.
fn truncate(world: &World, journal: &str) {
    if journal == "file" {
        let payload = world.path("large.json");
        std::fs::write(&payload, format!("\"{}\"", "x".repeat(LARGE_BYTES)))
            .expect("the folder is writable");
        for number in 0..=SEGMENT_BYTES / LARGE_BYTES {
            let id = format!("large-{number}");
            let large = ["submit", "--type", "none", "--id", &id, "--delay", "1h"];
            world.fine(&[&large[..], &["--payload-file", text(&payload)]].concat());
        }
        world.fine(&["cancel", "--type", "none"]);
    }
    for id in ["first", "second"] {
        world.fine(&["snapshot", text(&world.path("unused.snapshot"))]);
        world.submit_exec(id, "true", &["--wait"]);
    }
    // The journal is truncated when all who read it have.
    let check = world.path("check.backup");
    wait_until("the journal is truncated", || {
        world.json(&["backup", text(&check), "--json"])["from"] != 1
    });
}

#[test]
fn a_moment_is_restored_with_what_was_known_of_it_though_the_journal_was_truncated() {
    for journal in ["sqlite", "file"] {
        let mut world = world(journal);
        let _worker = world.worker("w1", &[]);
        do_work(&world);
        truncate(&world, journal);
        let before: Vec<(&str, Value)> =
            ["good", "bad", "keyed"].map(|id| (id, told(&world, id))).to_vec();
        let go = world.path("go");
        let script = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
        world.submit_exec("late", &script, &[]);
        world.wait_for("late", "running");
        world.submit_exec("waits", "true", &["--delay", "1h"]);
        let moment = position(&world);
        let backup = world.path("the.backup");
        std::fs::write(&go, "").unwrap();
        world.wait_for("late", "completed");
        world.fine(&["cancel", "waits"]);
        world.submit_exec("later", "true", &["--wait"]);
        world.fine(&["retry", "bad"]);
        world.wait_for("bad", "dead_lettered");
        let taken = world.json(&["backup", text(&backup), "--json"]);
        let first = taken["from"].as_u64().expect("a position");
        assert!(first > 1, "it was truncated: {taken}");
        // The last snapshot is of the end, and so are those of the backup.
        world.stop();

        let (dir, to) = (world.data_dir(), moment.to_string());
        let into = |name: &str| world.path(name).display().to_string();
        let sources = [["--data-dir", text(&dir)], ["--backup", text(&backup)]];
        for (number, source) in sources.iter().enumerate() {
            let into = into(&format!("early-{number}"));
            let early = [&["restore", "--to", "1", "--into", &into], &source[..]].concat();
            let early = world.run(&early);
            let said = String::from_utf8_lossy(&early.stderr);
            assert_eq!(early.status.code(), Some(3), "{said}");
            let why = "position 1 can't be reached: what lies before position";
            assert!(said.contains(why), "{said}");
        }
        let made: Vec<String> = (0..2).map(|number| into(&format!("restored-{number}"))).collect();
        // What was restored can be gone back in as far.
        let again = into("again");
        for (source, into) in
            [(sources[0], &made[0]), (sources[1], &made[1]), (["--data-dir", &made[0]], &again)]
        {
            world.fine(&[&["restore", "--to", &to, "--into", into], &source[..]].concat());
        }
        for dir in [&made[0], &made[1], &again] {
            world.serve_on(Path::new(dir), "127.0.0.1:0");
            assert_eq!(world.run(&["job", "later"]).status.code(), Some(4));
            assert_eq!(world.state("waits"), "delayed");
            wait_until("its worker has come back without it", || {
                world.state("late") != "completed"
            });
            is_all_there(&world, &before);
            world.stop();
        }
    }
}

#[test]
fn a_moment_is_told_by_its_time_too() {
    let mut world = world("sqlite");
    world.submit_exec("before", "true", &[]);
    let taken = world.json(&["events", "--json", "--kind", "job_submitted"]);
    let time = taken["at"].as_str().expect("events have a time").to_owned();
    world.submit_exec("after", "true", &[]);
    world.stop();
    let (dir, into) = (world.data_dir(), world.path("restored"));
    let to = ["--to-time", &time];
    world.fine(&[&["restore", "--data-dir", text(&dir), "--into", text(&into)], &to[..]].concat());
    world.serve_on(&into, "127.0.0.1:0");
    assert_eq!(world.state("before"), "ready");
    assert_eq!(world.run(&["job", "after"]).status.code(), Some(4));
}

#[test]
fn a_backup_that_is_cut_or_changed_is_refused() {
    let world = world("sqlite");
    world.submit_exec("a", "true", &[]);
    let file = world.path("the.backup");
    world.fine(&["backup", text(&file)]);
    let whole = std::fs::read(&file).unwrap();
    let refused = |bytes: &[u8], said: &str| {
        std::fs::write(&file, bytes).unwrap();
        let into = world.path("restored");
        for arguments in [
            ["backup", "--check", text(&file), "--json", "--json"],
            ["restore", "--backup", text(&file), "--into", text(&into)],
        ] {
            let arguments = &arguments[..if arguments[0] == "backup" { 3 } else { 5 }];
            let output = world.run(arguments);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{stderr}");
            assert!(stderr.contains(said), "{stderr}");
        }
        drop(std::fs::remove_dir_all(&into));
    };
    refused(&whole[..whole.len() - 10], "cut off");
    refused(&whole[..whole.len() / 2], "cut off");
    refused(b"no backup at all", "this is no backup");
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    refused(&changed, "damaged");
}
