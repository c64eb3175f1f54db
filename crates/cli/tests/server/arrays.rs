//! Runs that can be repeated: names, parameters and arrays, as somebody at the command line meets them.

use serde_json::json;

use crate::fixture::{Process, World, wait_until};

#[test]
fn the_same_file_again_is_a_new_run_unless_a_key_says_otherwise() {
    let world = World::new();
    let file = world.path("run.yaml");
    let text = "run: nightly\njobs:\n  - {id: fetch, type: t}\n  \
                - {id: build, type: t, dependencies: [fetch]}\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let (first, second) =
        (world.json(&["submit", file, "--json"]), world.json(&["submit", file, "--json"]));
    assert_ne!(first["run"], second["run"]);
    for run in [&first, &second] {
        let id = run["run"].as_str().unwrap();
        assert!(id.starts_with("nightly-"), "{id}");
        assert_eq!(run["ids"], json!([format!("{id}/fetch"), format!("{id}/build")]));
        let job = world.json(&["job", &format!("{id}/build"), "--json"]);
        assert_eq!(job["dependencies"], json!([format!("{id}/fetch")]));
    }
    std::fs::write(world.path("run.yaml"), format!("idempotency_key: monday\n{text}")).unwrap();
    let (first, second) =
        (world.json(&["submit", file, "--json"]), world.json(&["submit", file, "--json"]));
    assert_eq!(first["run"], second["run"]);
    assert_eq!((&first["known"], &second["known"]), (&json!(false), &json!(true)));
}

#[test]
fn parameters_are_set_on_the_command_line() {
    let world = World::new();
    let _w1 = world.worker("w1", &[]);
    let file = world.path("report.yaml");
    let text = "parameters: {date: null, times: 1}\njobs:\n  \
                say: {type: exec, tags: [\"{{date}}\"], payload: {argv: [echo, \"on {{date}}\"]}}\n  \
                count: {type: t, payload: {n: \"{{times}}\"}}\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let set = ["submit", file, "--set", "date=2026-11-15", "--set", "times=3", "--json"];
    let id = world.json(&set)["run"].as_str().unwrap().to_owned();
    world.wait_for(&format!("{id}/say"), "completed");
    assert_eq!(world.fine(&["logs", &format!("{id}/say")]), "on 2026-11-15\n");
    let job = world.json(&["job", &format!("{id}/count"), "--json"]);
    assert_eq!(job["payload"], json!({ "n": 3 }));

    for (set, says) in [
        (&[][..], "parameters.date: has no value; give it one, as --set date=VALUE"),
        (&["--set", "date=x", "--set", "dat=y"], "set.dat: is not known; did you mean date?"),
        (&["--set", "date=x", "--set", "times=y"], "set.times: is \"y\"; it must be a number"),
    ] {
        let refused = world.run(&[&["submit", file], set].concat());
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && stderr.contains(says), "{stderr}");
    }
}

#[test]
fn an_array_is_submitted_shown_waited_for_cancelled_and_retried_as_one() {
    let world = World::new();
    let payload = r#"{"argv":["sh","-c","test {{item}} != 3 && echo item {{item}}"]}"#;
    let array = ["--array", "1-5", "--type", "exec", "--payload", payload, "--retry", "0"];
    let submit = [&["submit", "--id", "squares"], &array[..], &["--json"]].concat();
    let taken = world.json(&submit);
    let run = taken["run"].as_str().unwrap().to_owned();
    assert!(run.starts_with("squares-"), "{run}");
    assert_eq!(taken["jobs"], 5);
    let shown = world.fine(&["runs", "show", &run]);
    assert_eq!(shown, format!("{run}\n  {run}/squares[5 jobs]  5 ready\n"));
    let all = format!("{run}/squares[*]");
    for name in [&all, &format!("{run}/squares")] {
        let told = world.fine(&["explain", name]);
        assert_eq!(
            told,
            format!(
                "{run}/squares[*]\n  of 5 jobs, 5 ready (no workers)\n  5            job \
                 {run}/squares[1] waits because no worker is registered\n"
            )
        );
    }
    assert_eq!(world.run(&["explain", &format!("{run}/circles")]).status.code(), Some(4));
    assert_eq!(world.fine(&["cancel", &all]), "5 jobs cancelled\n");
    assert!(world.fine(&["runs", "show", &run]).ends_with("5 cancelled\n"));
    let _w1 = world.worker("w1", &[]);
    assert_eq!(world.fine(&["retry", &all]), "5 jobs retried\n");
    wait_until("all have ended", || {
        let states = &world.lines(&["runs", "list", "--json"])[0]["states"];
        states["completed"] == 4 && states["dead_lettered"] == 1
    });
    assert_eq!(world.fine(&["logs", &format!("{run}/squares[2]")]), "item 2\n");
    let told = world.json(&["explain", &all, "--json"]);
    assert_eq!(told["summary"], "of 5 jobs, 4 completed, 1 dead_lettered");
    assert_eq!(told["array"][1], json!({ "state": "dead_lettered", "jobs": 1 }));

    let waited = world.run(&[&["submit", "--wait"], &array[..]].concat());
    assert_eq!(waited.status.code(), Some(1), "the code of the job that failed");
    let stderr = String::from_utf8_lossy(&waited.stderr).into_owned();
    assert!(stderr.contains("5 of 5 ended, 1 did not complete"), "{stderr}");
    assert!(stderr.contains("exec[3] dead_lettered"), "{stderr}");
}

#[test]
fn an_array_over_a_file_and_a_list_gives_each_its_item() {
    let world = World::new();
    let names = world.path("names.txt");
    std::fs::write(&names, "ada\n\ngrace\n").unwrap();
    let file = world.path("run.yaml");
    let text = format!(
        "jobs:\n  greet: {{type: t, array: \"@{}\", payload: {{to: \"{{{{item}}}}\", n: \"{{{{index}}}}\"}}}}\n  \
         pair: {{type: t, array: [1, x], dependencies: [\"greet[{{{{index}}}}]\"]}}\n  \
         last: {{type: t, dependencies: [pair]}}\n",
        names.display()
    );
    std::fs::write(&file, text).unwrap();
    let run = world.json(&["submit", file.to_str().unwrap(), "--json"]);
    let run = run["run"].as_str().unwrap();
    let job = |name: &str| world.json(&["job", &format!("{run}/{name}"), "--json"]);
    assert_eq!(job("greet[2]")["payload"], json!({ "to": "grace", "n": 2 }));
    assert_eq!(job("pair[2]")["dependencies"], json!([format!("{run}/greet[2]")]));
    assert_eq!(job("last")["dependencies"].as_array().unwrap().len(), 2);
}

/// In the middle of a large array the client is killed, and then the scheduler: with its key the same
/// command again brings what is missing, and nothing twice.
#[test]
fn what_a_crash_leaves_of_a_large_array_is_completed_and_not_doubled() {
    let mut world = World::new();
    const JOBS: u64 = 30_000;
    let file = world.path("big.json");
    let text = json!({
        "run": "big", "idempotency_key": "once",
        "jobs": { "part": { "type": "t", "array": format!("1-{JOBS}"), "payload": "{{item}}" } },
    });
    std::fs::write(&file, text.to_string()).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let total = |world: &World| {
        let runs = world.lines(&["runs", "list", "--json"]);
        runs.first().map_or(0, |run| run["total"].as_u64().unwrap_or(0))
    };
    let start = |world: &World| Process(world.command(&["submit", &file]).spawn().unwrap());
    let client = start(&world);
    wait_until("some are taken", || total(&world) > 0);
    drop(client);
    let part = total(&world);
    assert!(part > 0);

    let mut client = start(&world);
    wait_until("it goes on", || part == JOBS || total(&world) > part);
    world.crash_and_restart();
    assert_eq!(client.wait(), Some(0));
    let again = world.json(&["submit", &file, "--json"]);
    assert_eq!((&again["known"], &again["jobs"]), (&json!(true), &json!(JOBS)));
    assert_eq!(total(&world), JOBS);
    assert_eq!(world.lines(&["runs", "list", "--json"]).len(), 1);
}

#[test]
fn an_array_says_how_many_of_its_jobs_wait_for_what() {
    let world = World::new();
    let file = world.path("run.yaml");
    // More than one look of the loop.
    let text = "jobs:\n  before: {type: other, delay: 1h}\n  \
                many: {type: t, array: 1-1200}\n  \
                after: {type: t, array: 1-3, dependencies: [before]}\n";
    std::fs::write(&file, text).unwrap();
    let run = world.json(&["submit", file.to_str().unwrap(), "--json"]);
    let run = run["run"].as_str().unwrap();
    let summary = |name: &str| {
        world.json(&["explain", &format!("{run}/{name}"), "--json"])["summary"].clone()
    };
    assert_eq!(summary("many"), "of 1200 jobs, 1200 ready (no workers)");
    assert_eq!(summary("after"), "of 3 jobs, 3 waiting (dependencies)");
    let _w1 = world.worker("w1", &[]);
    assert_eq!(summary("many"), "of 1200 jobs, 1200 ready (missing type)");
    world.fine(&["pause", "t"]);
    assert_eq!(summary("many"), "of 1200 jobs, 1200 ready (paused)");
    world.fine(&["cancel", &format!("{run}/many[7]")]);
    assert_eq!(summary("many"), "of 1200 jobs, 1199 ready (paused), 1 cancelled");
}
