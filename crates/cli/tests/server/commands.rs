//! Submitting, following and steering.

use crate::fixture::{World, bellwether, wait_until};

#[test]
fn a_command_runs_on_a_worker_and_its_output_and_code_come_back() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let fine = world.run(&["run", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(fine.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&fine.stdout), "out\n");
    assert!(String::from_utf8_lossy(&fine.stderr).contains("err\n"));

    let failed = world.run(&["run", "--", "sh", "-c", "echo why >&2; exit 7"]);
    assert_eq!(failed.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("exit code 7: why"));

    let missing = world.run(&["run", "--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("failed to start"));
}

#[test]
fn a_command_gets_its_environment_and_folder() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let arguments = [
        "run",
        "--id",
        "j",
        "--env",
        "X=1",
        "--cwd",
        "/",
        "--",
        "sh",
        "-c",
        "echo $X $PWD $BELLWETHER_JOB",
    ];
    assert_eq!(world.fine(&arguments), "1 / j\n");
}

#[test]
fn a_job_goes_from_waiting_to_completed_after_what_it_depends_on() {
    let world = World::new();
    world.submit_exec("first", "true", &[]);
    world.submit_exec("second", "true", &["--after", "first", "--priority", "high"]);
    assert_eq!(world.state("first"), "ready");
    assert_eq!(world.state("second"), "waiting");
    let _worker = world.worker("w1", &[]);
    world.wait_for("second", "completed");
    let job = world.json(&["job", "second", "--json"]);
    assert_eq!(job["result"]["exit_code"], 0);
    assert_eq!(job["attempts"][0]["worker"], "w1");
    assert_eq!(job["attempts"][0]["state"], "completed");
    assert_eq!(job["priority"], "high");
    assert!(world.fine(&["job", "second"]).contains("was chosen because"));
}

#[test]
fn waiting_shows_what_happens_and_exits_with_the_jobs_code() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let payload = r#"{"argv":["sh","-c","exit 3"]}"#;
    let arguments = ["submit", "--type", "exec", "--payload", payload, "--retry", "0", "--wait"];
    let output = world.run(&arguments);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("dead_lettered"));
}

#[test]
fn files_of_jobs_and_runs_are_taken() {
    let world = World::new();
    let lines = world.path("jobs.jsonl");
    std::fs::write(&lines, "{\"id\":\"a\",\"type\":\"t\"}\n{\"id\":\"b\",\"type\":\"t\"}\n")
        .unwrap();
    assert_eq!(world.fine(&["submit", lines.to_str().unwrap()]), "a\nb\n");
    let run = world.path("run.yaml");
    let text = "run: nightly\njobs:\n  one: {type: t}\n  two: {type: t, dependencies: [one]}\n";
    std::fs::write(&run, text).unwrap();
    let accepted = world.json(&["submit", run.to_str().unwrap(), "--json"]);
    let id = accepted["run"].as_str().unwrap().to_owned();
    assert!(id.starts_with("nightly-"), "{id}");
    let second = format!("{id}/two");
    assert_eq!(accepted["ids"], serde_json::json!([format!("{id}/one"), second]));
    assert_eq!(world.state(&second), "waiting");
    wait_until("the registry has them", || {
        world.lines(&["jobs", "--run", &id, "--json"]).len() == 2
    });
    assert_eq!(world.lines(&["jobs", "--state", "waiting", "--json"]).len(), 1);
}

#[test]
fn what_the_scheduler_refuses_exits_with_4_and_a_code() {
    let world = World::new();
    world.submit_exec("a", "true", &[]);
    let again = world.run(&["submit", "--type", "t", "--id", "a", "--json"]);
    assert_eq!(again.status.code(), Some(4));
    let answer: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(answer["rejection"]["code"], "duplicate_job");
    let unknown = world.run(&["job", "nobody"]);
    assert_eq!(unknown.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("[unknown_job]"));
}

#[test]
fn nobody_at_the_address_exits_with_3() {
    let output = bellwether().args(["status", "--server", "http://127.0.0.1:1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("http://127.0.0.1:1"));
}

#[test]
fn a_cancelled_command_dies_with_all_that_it_started_and_can_be_retried() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let mark = world.path("pid");
    let script = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", mark.display());
    world.submit_exec("long", &script, &[]);
    wait_until("it runs", || mark.exists());
    let pid = std::fs::read_to_string(&mark).unwrap().trim().to_owned();
    assert_eq!(world.fine(&["cancel", "long"]), "long cancelled\n");
    assert_eq!(world.state("long"), "cancelled");
    wait_until("its child is gone", || !is_alive(&pid));

    std::fs::remove_file(&mark).unwrap();
    world.fine(&["retry", "long"]);
    wait_until("it runs again", || mark.exists());
    world.fine(&["cancel", "long"]);
}

#[test]
fn commands_of_a_worker_that_is_killed_do_not_outlive_it() {
    let world = World::new();
    let worker = world.worker("w1", &[]);
    let mark = world.path("pid");
    let script = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", mark.display());
    world.submit_exec("long", &script, &[]);
    wait_until("it runs", || mark.exists());
    let pid = std::fs::read_to_string(&mark).unwrap().trim().to_owned();
    assert!(is_alive(&pid));
    worker.signal(rustix::process::Signal::KILL);
    wait_until("its child is gone", || !is_alive(&pid));
}

#[test]
fn a_timeout_kills_the_command() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let mark = world.path("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 600", mark.display());
    world.submit_exec("slow", &script, &["--timeout", "1", "--retry", "0"]);
    world.wait_for("slow", "dead_lettered");
    let job = world.json(&["job", "slow", "--json"]);
    assert_eq!(job["attempts"][0]["cause"], "timed_out");
    let pid = std::fs::read_to_string(&mark).unwrap().trim().to_owned();
    wait_until("it is gone", || !is_alive(&pid));
}

#[test]
fn a_drained_worker_gets_no_more_until_that_is_undone() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    world.fine(&["drain", "w1"]);
    world.submit_exec("a", "true", &[]);
    assert_eq!(world.state("a"), "ready");
    assert_eq!(world.lines(&["workers", "--json"])[0]["status"], "draining");
    world.fine(&["drain", "w1", "--undo"]);
    world.wait_for("a", "completed");
}

#[test]
fn a_worker_that_is_told_to_end_finishes_what_it_runs() {
    let world = World::new();
    let mut worker = world.worker("w1", &[]);
    let (started, go) = (world.path("started"), world.path("go"));
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo done",
        started.display(),
        go.display()
    );
    world.submit_exec("a", &script, &[]);
    wait_until("it runs", || started.exists());
    worker.terminate();
    wait_until("the worker drains", || {
        world.lines(&["workers", "--json"])[0]["status"] == "draining"
    });
    std::fs::write(&go, "").unwrap();
    assert_eq!(worker.wait(), Some(0));
    assert_eq!(world.state("a"), "completed");
}

fn is_alive(pid: &str) -> bool {
    // A zombie has ended, even if nobody has asked for its code yet.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}
