//! The same, true answer everywhere.

use serde_json::{Value, json};

use crate::fixture::{World, wait_until};

fn worker(world: &World, id: &str) -> Value {
    let workers = world.lines(&["workers", "--all", "--json"]);
    workers.into_iter().find(|worker| worker["id"] == id).expect("the worker is known")
}

#[test]
fn workers_tell_what_they_did_and_how_they_are() {
    let world = World::new();
    let mut w1 = world.worker("w1", &[]);
    world.fine(&["run", "--", "true"]);
    assert_eq!(world.run(&["run", "--", "false"]).status.code(), Some(1));
    let before = worker(&world, "w1");
    assert_eq!((&before["completed"], &before["failed"]), (&json!(1), &json!(1)));
    assert!(before["estimated_available_at"].is_string(), "{before}");
    // With the first heartbeat, though nothing of what decisions go by has changed.
    wait_until("it has said how it is", || {
        let now = worker(&world, "w1");
        now["memory_load"].as_f64() > Some(0.0) && now["last_seen"] != before["last_seen"]
    });
    world.submit_exec("long", "sleep 600", &[]);
    world.wait_for("long", "running");
    assert_eq!(worker(&world, "w1")["load"], 0.5);
    world.fine(&["cancel", "long"]);
    w1.terminate();
    w1.wait();
    wait_until("it has left", || worker(&world, "w1")["status"] == "left");
    let all = world.rest("GET", "/workers?all=true", "").json();
    assert_eq!(all["workers"][0]["status"], "left");
    assert_eq!(all["workers"][0]["completed"], 1);
}

#[test]
fn counts_of_workers_survive_a_restart() {
    let mut world = World::new();
    let _w1 = world.worker("w1", &[]);
    world.fine(&["run", "--", "true"]);
    world.stop();
    world.serve_again();
    assert_eq!(worker(&world, "w1")["completed"], 1);
}

#[test]
fn a_skipped_job_names_the_root_cause_and_its_error() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    world.submit_exec("root", "echo broken >&2; exit 7", &["--retry", "0"]);
    world.submit_exec("middle", "true", &["--after", "root"]);
    world.submit_exec("leaf", "true", &["--after", "middle"]);
    world.wait_for("leaf", "skipped");
    let leaf = world.json(&["job", "leaf", "--json"]);
    assert_eq!(leaf["root_cause"], "root");
    assert_eq!(leaf["explanation"], "root did not complete: exit code 7: broken");
    // Long after they ended, dependencies are shown.
    assert_eq!(leaf["dependencies"], json!(["middle"]));
    assert_eq!(world.rest("GET", "/jobs/leaf", "").json()["root_cause"], "root");
    // One that comes too late is skipped at once, and says the same.
    world.submit_exec("late", "true", &["--after", "leaf"]);
    let late = world.json(&["job", "late", "--json"]);
    assert_eq!((&late["state"], &late["root_cause"]), (&json!("skipped"), &json!("root")));
}

#[test]
fn waiting_for_a_run_exits_with_the_code_of_the_root_cause() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    let run = world.path("run.yaml");
    let text = "run: nightly\njobs:\n  \
                last: {type: exec, payload: {argv: [\"true\"]}, dependencies: [first]}\n  \
                first: {type: exec, payload: {argv: [sh, -c, exit 7]}, retry: 0}\n";
    std::fs::write(&run, text).unwrap();
    let output = world.run(&["submit", run.to_str().unwrap(), "--wait"]);
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_escalated_job_shows_its_new_priority_and_role() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    let job = r#"{"id":"e","type":"exec","payload":{"argv":["false"]},"retry":0,
        "escalation":{"priority":"critical","role":"senior"}}"#;
    assert_eq!(world.rest("POST", "/jobs", job).status, 201);
    wait_until("it escalates", || world.json(&["job", "e", "--json"])["role"] == "senior");
    assert_eq!(world.json(&["job", "e", "--json"])["priority"], "critical");
    let listed = world.lines(&["jobs", "--json"]);
    assert_eq!(
        (&listed[0]["priority"], &listed[0]["role"]),
        (&json!("critical"), &json!("senior"))
    );
}

#[test]
fn the_nearest_worker_is_the_one_that_lacks_least() {
    let world = World::new();
    // One lacks a role and everything else, the other a single capability.
    let _far = world.worker("far", &["--cpu", "100"]);
    let _near = world.worker("near", &["--role", "gpu", "--capability", "a"]);
    let job = r#"{"id":"n","type":"exec","role":"gpu","capabilities":["a","b"],"cpu":1000}"#;
    world.rest("POST", "/jobs", job);
    let why = world.json(&["explain", "n", "--json"]);
    assert_eq!(why["waiting_for"]["nearest"]["worker"], "near", "{why}");
}

#[test]
fn an_idempotency_key_with_another_payload_is_a_conflict() {
    let world = World::new();
    let job =
        |payload: &str| format!(r#"{{"type":"exec","payload":{payload},"idempotency_key":"k"}}"#);
    assert_eq!(world.rest("POST", "/jobs", &job("{\"a\":1}")).json()["known"], false);
    assert_eq!(world.rest("POST", "/jobs", &job("{\"a\":1}")).json()["known"], true);
    let other = world.rest("POST", "/jobs", &job("{\"a\":2}"));
    assert_eq!(other.status, 409, "{}", other.body);
    assert_eq!(other.json()["code"], "key_taken");
}

#[test]
fn what_can_not_be_meant_is_refused() {
    let world = World::new();
    let refused = |method: &str, path: &str, body: &str, wanted: &str| {
        let answer = world.rest(method, path, body);
        assert_eq!(answer.status, 400, "{path} {body}: {}", answer.body);
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(detail.contains(wanted), "{path} {body}: {detail}");
    };
    refused("POST", "/jobs", r#"{"id":"a","id":"b","type":"t"}"#, "id: stands twice");
    refused("POST", "/jobs", r#"{"type":"t","quite_unlike":1}"#, "quite_unlike: is not known");
    refused("GET", "/events?kind=job_complete&follow=false", "", "did you mean job_completed?");
    refused("GET", "/events?kind=zzz&follow=false", "", "kind zzz: is not known");
    refused("PATCH", "/config", r#"{"max_retry":1,"max_retry":2}"#, "`max_retry` stands twice");
    let events = world.run(&["events", "--kind", "zzz"]);
    assert_ne!(events.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&events.stderr).contains("kind zzz: is not known"));
}

#[test]
fn settings_are_changed_as_the_file_writes_them_and_errors_name_them_so() {
    let world = World::new();
    let changed = world.rest(
        "PATCH",
        "/config",
        r#"{"job_timeout_default":"5m","reject_threshold":0.9,"retry_backoff":"linear",
            "priorities":{"low":10},"shadow":"formula"}"#,
    );
    assert_eq!(changed.status, 200, "{}", changed.body);
    let config = changed.json();
    assert_eq!(config["job_timeout_default"], 300.0);
    assert_eq!(
        (&config["reject_threshold"], &config["retry_backoff"]),
        (&json!(90), &json!("linear"))
    );
    assert_eq!((&config["priorities"]["low"], &config["shadow"]), (&json!(10), &json!("formula")));
    for (patch, wanted) in [
        (r#"{"reject_threshold":200}"#, "reject_threshold is 200"),
        (r#"{"retry_base":9999}"#, "retry_base is 9999 s"),
        (r#"{"heartbeat_interval":"1h"}"#, "heartbeat_interval is 3600 s"),
    ] {
        let refused = world.rest("PATCH", "/config", patch);
        assert_eq!(refused.status, 422, "{}", refused.body);
        let detail = refused.json()["detail"].clone();
        assert!(detail.as_str().is_some_and(|detail| detail.starts_with(wanted)), "{detail}");
    }
}

#[test]
fn the_hash_of_an_event_is_that_of_its_payload_as_printed() {
    let world = World::new();
    world.submit_exec("a", "true", &[]);
    let text = world.fine(&["events", "--json"]);
    let mut checked = 0;
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let (_, payload) = line.split_once("\"payload\":").unwrap();
        let (payload, _) = payload.split_once(",\"payload_hash\":").unwrap();
        assert_eq!(event["payload_hash"], blake3::hash(payload.as_bytes()).to_string());
        checked += 1;
    }
    assert!(checked >= 1, "{text}");
}

#[test]
fn a_full_queue_without_workers_asks_to_come_back_when_one_may_be_there() {
    let world = World::with(|folder| {
        let config = folder.join("scheduler.yaml");
        std::fs::write(&config, "jobs_max: 1\nreject_threshold: 100\n").unwrap();
        vec!["--config".to_owned(), config.display().to_string()]
    });
    world.submit_exec("a", "true", &[]);
    let refused = world.rest("POST", "/jobs", r#"{"type":"t"}"#);
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert!(refused.body.contains("retry in 5.0 s"), "{}", refused.body);
}

#[test]
fn the_newest_decisions_are_shown_while_others_follow_events_and_many_jobs_are_cancelled() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    let mut following = world.follow(&["events", "--follow"]);
    let lines: String = (0..60)
        .map(|n| {
            format!("{{\"id\":\"j{n}\",\"type\":\"exec\",\"payload\":{{\"argv\":[\"true\"]}}}}\n")
        })
        .collect();
    let file = world.path("jobs.jsonl");
    std::fs::write(&file, lines).unwrap();
    world.fine(&["submit", file.to_str().unwrap(), "--wait"]);
    assert_eq!(world.lines(&["decisions", "--limit", "60", "--json"]).len(), 60);
    following.process.terminate();
}

#[test]
fn the_figures_that_were_promised_have_their_names() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    world.submit_exec("good", "true", &[]);
    world.submit_exec("bad", "false", &["--retry", "1"]);
    world.wait_for("good", "completed");
    world.wait_for("bad", "dead_lettered");
    let figure = |line: &str| {
        let metrics = world.request("GET", "/metrics", "").body;
        let told = metrics.lines().find_map(|told| told.strip_prefix(line)?.trim().parse().ok());
        told.unwrap_or(f64::NAN)
    };
    wait_until("both have been counted", || {
        figure(r#"bellwether_jobs_per_agent{worker="w1"}"#) == 3.0
    });
    assert_eq!(figure(r#"bellwether_retry_counts{type="exec"}"#), 1.0);
    assert_eq!(figure(r#"bellwether_failure_rate{type="exec"}"#), 0.5);
    assert!(figure(r#"bellwether_average_latency{type="exec"}"#) > 0.0);
}

#[test]
fn whoever_comes_back_between_two_events_of_one_position_misses_none() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    world.submit_exec("bad", "exit 3", &["--retry", "0"]);
    world.wait_for("bad", "dead_lettered");
    let ends = ["events", "--json", "--kind", "job_failed", "--kind", "job_dead_lettered"];
    let both = world.lines(&ends);
    let kinds: Vec<&str> = both.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["job_failed", "job_dead_lettered"]);
    assert_eq!(both[0]["seq"], both[1]["seq"]);
    let behind = |event: &Value| {
        let id = event["id"].as_str().expect("an event has an id");
        world.lines(&[&ends[..], &["--after", id]].concat())
    };
    assert_eq!(behind(&both[0]), both[1..]);
    assert_eq!(behind(&both[1]), Vec::<Value>::new());
    let refused = world.run(&["events", "--after", "soon"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("after: is soon; it must be the id of an event"), "{said}");
}
