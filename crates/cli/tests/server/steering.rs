//! What REST can, the command line can.

use serde_json::json;

use crate::fixture::{World, wait_until};

#[test]
fn one_type_or_all_are_paused_and_resumed() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    world.fine(&["pause", "exec"]);
    world.submit_exec("a", "true", &[]);
    assert_eq!(world.json(&["explain", "a", "--json"])["waiting_for"]["reason"], "paused");
    world.fine(&["resume", "exec"]);
    world.wait_for("a", "completed");

    world.fine(&["pause", "--all"]);
    world.submit_exec("b", "true", &[]);
    assert!(world.fine(&["explain", "b"]).contains("all types are paused"));
    world.fine(&["resume", "--all"]);
    world.wait_for("b", "completed");
    let types = world.lines(&["types", "--json"]);
    let exec = types.iter().find(|kind| kind["type"] == "exec").expect("it was seen");
    assert_eq!((&exec["workers"], &exec["paused"]), (&json!(1), &json!(false)));
    assert_eq!(exec["samples"], 2);
}

#[test]
fn a_job_is_pinned_to_a_worker() {
    let world = World::new();
    world.submit_exec("a", "true", &["--delay", "600"]);
    let _w1 = world.worker("w1", &[]);
    world.fine(&["pin", "a", "w1"]);
    let pinned = world.lines(&["events", "--kind", "job_pinned", "--json"]);
    assert_eq!(pinned.len(), 1);
    assert_eq!(pinned[0]["job"], "a");
}

#[test]
fn settings_are_shown_changed_and_compared() {
    let world = World::new();
    assert_eq!(
        world.fine(&["config", "get", "retry_base", "weights.wait"]),
        "retry_base=1.0\nweights.wait=0.4\n"
    );
    let would = world.fine(&["config", "set", "retry_base=5m", "--dry-run"]);
    assert_eq!(would, "retry_base: 1.0 -> 300.0\n");
    assert_eq!(world.fine(&["config", "diff"]), "");
    world.fine(&["config", "set", "retry_base=2s", "weights.wait=0.5", "duration_by_type.exec=3s"]);
    assert_eq!(
        world.fine(&["config", "diff"]),
        "duration_by_type.exec: null -> 3.0\nretry_base: 1.0 -> 2.0\nweights.wait: 0.4 -> 0.5\n"
    );
    let wrong = world.run(&["config", "set", "max_rerty=2"]);
    assert_eq!(wrong.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean max_retry?"));
}

#[test]
fn runs_are_listed_shown_as_a_tree_cancelled_and_retried() {
    let world = World::new();
    let run = world.path("run.yaml");
    let text = "run: nightly\njobs:\n  fetch: {type: exec, payload: {argv: [\"true\"]}}\n  \
                build: {type: exec, payload: {argv: [\"true\"]}, dependencies: [fetch]}\n  \
                lint: {type: exec, payload: {argv: [\"true\"]}, dependencies: [fetch]}\n  \
                ship: {type: exec, payload: {argv: [\"true\"]}, dependencies: [lint, build]}\n";
    std::fs::write(&run, text).unwrap();
    let taken = world.json(&["submit", run.to_str().unwrap(), "--json"]);
    let id = taken["run"].as_str().unwrap().to_owned();
    let runs = world.lines(&["runs", "list", "--json"]);
    assert_eq!((&runs[0]["id"], &runs[0]["total"]), (&json!(id), &json!(4)));
    assert_eq!(
        world.fine(&["runs", "show", &id]).replace(&id, "nightly"),
        "nightly\n  nightly/fetch  ready\n    nightly/build  waiting\n      \
         nightly/ship  waiting  (after nightly/lint, too)\n    nightly/lint  waiting\n"
    );
    let would = world.fine(&["runs", "cancel", &id, "--dry-run"]);
    assert!(would.starts_with("4 jobs would be cancelled\n"), "{would}");
    let cancelled = world.run(&["runs", "cancel", &id]);
    assert!(cancelled.status.code().is_some());
    wait_until("all have ended", || {
        world.lines(&["jobs", "--run", &id, "--state", "waiting,ready", "--json"]).is_empty()
    });
    let _w1 = world.worker("w1", &[]);
    world.run(&["runs", "retry", &id]);
    world.wait_for(&format!("{id}/ship"), "completed");
}

#[test]
fn many_jobs_are_cancelled_and_retried_by_what_they_have_in_common() {
    let world = World::new();
    let lines: String = (0..1_200)
        .map(|n| format!("{{\"id\":\"j{n}\",\"type\":\"t\",\"tags\":[\"x\"]}}\n"))
        .collect();
    let file = world.path("jobs.jsonl");
    std::fs::write(&file, lines).unwrap();
    world.fine(&["submit", file.to_str().unwrap()]);
    world.fine(&["submit", "--type", "t", "--id", "other"]);
    assert_eq!(
        world.fine(&["cancel", "--tag", "x", "--dry-run"]).lines().next(),
        Some("1200 jobs would be cancelled")
    );
    assert_eq!(world.fine(&["cancel", "--tag", "x"]), "1200 jobs cancelled\n");
    assert_eq!(world.state("other"), "ready");
    assert_eq!(world.fine(&["retry", "--tag", "x", "--state", "cancelled"]), "1200 jobs retried\n");
    assert_eq!(world.state("j7"), "ready");
    // Nobody cancels everything by leaving something out.
    assert_eq!(world.run(&["cancel"]).status.code(), Some(2));
}

#[test]
fn a_drained_worker_is_waited_for() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    let (started, go) = (world.path("started"), world.path("go"));
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done",
        started.display(),
        go.display()
    );
    world.submit_exec("a", &script, &[]);
    wait_until("it runs", || started.exists());
    let mut draining = world.follow(&["drain", "w1", "--wait"]);
    wait_until("it drains", || world.lines(&["workers", "--json"])[0]["status"] == "draining");
    std::fs::write(&go, "").unwrap();
    assert_eq!(draining.process.wait(), Some(0));
    assert_eq!(world.state("a"), "completed");
}

#[test]
fn a_job_that_runs_at_most_once_is_retried_only_with_force() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    world.submit_exec("once", "exit 1", &["--guarantee", "at_most_once"]);
    world.wait_for("once", "failed");
    let refused = world.run(&["retry", "once"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("[needs_force]"));
    assert_eq!(world.rest("POST", "/jobs/once/retry", "{}").json()["code"], "needs_force");
    world.fine(&["retry", "once", "--force"]);
    wait_until("it has run again", || {
        world.json(&["job", "once", "--json"])["attempts"].as_array().is_some_and(|a| a.len() == 2)
    });
}

#[test]
fn a_job_says_what_it_needs_on_the_command_line() {
    let world = World::new();
    let file = world.path("payload.json");
    std::fs::write(&file, r#"{"argv":["true"]}"#).unwrap();
    let arguments = [
        "submit",
        "--type",
        "exec",
        "--id",
        "a",
        "--payload-file",
        file.to_str().unwrap(),
        "--cpu",
        "1500",
        "--memory",
        "64MiB",
        "--timeout",
        "5m",
        "--delay",
        "1.5h",
    ];
    world.fine(&arguments);
    let job = world.json(&["job", "a", "--json"]);
    assert_eq!(job["payload"], json!({ "argv": ["true"] }));
    assert_eq!((&job["cpu"], &job["memory"]), (&json!(1_500), &json!(64 << 20)));
    assert_eq!((&job["timeout"], &job["delay"]), (&json!(300.0), &json!(5_400.0)));
}

#[test]
fn the_code_of_a_command_is_told_from_ours() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    let code = |script: &[&str]| world.run(&[&["run", "--"], script].concat()).status.code();
    assert_eq!(code(&["sh", "-c", "exit 3"]), Some(3));
    assert_eq!(code(&["sh", "-c", "exit 125"]), Some(125));
    assert_eq!(code(&["/no/such/command"]), Some(127));
    assert_eq!(code(&["/etc/passwd"]), Some(126));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), Some(137));
    let timed_out = world.run(&["run", "--timeout", "200ms", "--", "sleep", "600"]);
    assert_eq!(timed_out.status.code(), Some(125));
    let refused = world.run(&["run", "--retry", "99", "--", "true"]);
    assert_eq!(refused.status.code(), Some(125));
}

#[test]
fn whoever_closes_the_pipe_ends_the_command_quietly() {
    let world = World::new();
    for n in 0..50 {
        world.submit_exec(&format!("j{n}"), "true", &[]);
    }
    let line = format!(
        "{} events --from 1 2>&1 | head -n 1; {} jobs 2>&1 | head -n 1; {} --help | head -n 1",
        env!("CARGO_BIN_EXE_bellwether"),
        env!("CARGO_BIN_EXE_bellwether"),
        env!("CARGO_BIN_EXE_bellwether")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .env("BELLWETHER_SERVER", &world.address)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn errors_are_told_once_and_in_our_words() {
    let world = World::new();
    // HTTP where gRPC is expected, as with TLS on the other side.
    let wrong = world.run(&["status", "--server", &world.address.replace("http://", "https://")]);
    let stderr = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("write http://"), "{stderr}");
    let file = world.path("big.json");
    let payload = "x".repeat(20 << 20);
    std::fs::write(&file, format!("{{\"type\":\"t\",\"payload\":\"{payload}\"}}")).unwrap();
    let big = world.run(&["submit", file.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&big.stderr);
    assert!(stderr.contains("larger than the scheduler takes"), "{stderr}");
}

#[test]
fn a_check_tells_what_is_wrong_and_the_way_out() {
    let world = World::new();
    let taken = world.address.trim_start_matches("http://").to_owned();
    let free = ["serve", "--check", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir"];
    let dir = world.path("other").display().to_string();
    let fine = world.run(&[&free[..], &[&dir]].concat());
    assert_eq!(fine.status.code(), Some(0), "{}", String::from_utf8_lossy(&fine.stdout));
    let busy = world.run(&["serve", "--check", "--grpc", &taken, "--data-dir", &dir]);
    assert_eq!(busy.status.code(), Some(1));
    let told = String::from_utf8_lossy(&busy.stdout).into_owned();
    assert!(told.contains("bad  gRPC address") && told.contains("choose another"), "{told}");
    assert!(world.fine(&["doctor"]).contains("answers, 0 workers"));
}
