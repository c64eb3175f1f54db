//! What survives kill -9.

use crate::fixture::{World, wait_until};

#[test]
fn acknowledged_jobs_survive_a_crash_of_the_scheduler() {
    let mut world = World::new();
    for number in 0..20 {
        world.submit_exec(&format!("j{number}"), "true", &[]);
    }
    world.crash_and_restart();
    for number in 0..20 {
        assert_eq!(world.state(&format!("j{number}")), "ready");
    }
}

#[test]
fn a_running_job_goes_on_through_a_crash_of_the_scheduler() {
    let mut world = World::new();
    let _worker = world.worker("w1", &[]);
    let (runs, go) = (world.path("runs"), world.path("go"));
    let script = format!(
        "echo run >> {}; while [ ! -e {} ]; do sleep 0.02; done; echo survived",
        runs.display(),
        go.display()
    );
    for guarantee in ["at_least_once", "exactly_once"] {
        world.submit_exec(guarantee, &script, &["--guarantee", guarantee]);
        world.wait_for(guarantee, "running");
    }
    world.crash_and_restart();
    std::fs::write(&go, "").unwrap();
    for id in ["at_least_once", "exactly_once"] {
        world.wait_for(id, "completed");
        let job = world.json(&["job", id, "--json"]);
        assert_eq!(job["result"]["stdout"], "survived\n");
        assert_eq!(job["attempts"].as_array().unwrap().len(), 1, "{job}");
    }
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\nrun\n");
}

#[test]
fn a_result_that_waits_while_the_scheduler_is_down_is_told_when_it_is_back() {
    let mut world = World::new();
    let _worker = world.worker("w1", &[]);
    let (started, go, ended) = (world.path("started"), world.path("go"), world.path("ended"));
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; touch {}",
        started.display(),
        go.display(),
        ended.display()
    );
    world.submit_exec("a", &script, &[]);
    wait_until("it runs", || started.exists());
    world.wait_for("a", "running");
    world.stop();
    std::fs::write(&go, "").unwrap();
    wait_until("it ends", || ended.exists());
    world.crash_and_restart();
    world.wait_for("a", "completed");
    let job = world.json(&["job", "a", "--json"]);
    assert_eq!(job["attempts"].as_array().unwrap().len(), 1, "{job}");
}

#[test]
fn jobs_of_a_killed_worker_run_on_its_successor() {
    let world = World::new();
    let worker = world.worker("w1", &[]);
    let runs = world.path("runs");
    let script = format!("echo run >> {0}; [ $(wc -l < {0}) = 2 ] || sleep 600", runs.display());
    world.submit_exec("a", &script, &[]);
    wait_until("it runs", || runs.exists());
    world.wait_for("a", "running");
    drop(worker);
    let _successor = world.worker("w1", &[]);
    world.wait_for("a", "completed");
    assert_eq!(world.json(&["job", "a", "--json"])["crashes"], 1);
}

#[test]
fn crashes_under_load_lose_nothing_and_repeat_nothing() {
    const JOBS: usize = 120;
    const CRASHES: usize = 8;
    let mut world = World::new();
    let _workers = [world.worker("w1", &[]), world.worker("w2", &[])];
    let (file, runs) = (world.path("jobs.jsonl"), world.path("runs"));
    let lines: String = (0..JOBS)
        .map(|number| {
            let guarantee = if number % 2 == 0 { "at_least_once" } else { "exactly_once" };
            let script = format!("echo {number} >> {}; sleep 0.02", runs.display());
            let payload = serde_json::json!({ "argv": ["sh", "-c", script] });
            let job = serde_json::json!({
                "id": format!("j{number}"),
                "type": "exec",
                "guarantee": guarantee,
                "payload": payload,
            });
            format!("{job}\n")
        })
        .collect();
    std::fs::write(&file, lines).unwrap();
    world.fine(&["submit", file.to_str().unwrap()]);
    for crash in 1..=CRASHES {
        let wanted = crash * JOBS / (CRASHES + 2);
        wait_until("more have run", || {
            std::fs::read_to_string(&runs).is_ok_and(|text| text.lines().count() >= wanted)
        });
        world.crash_and_restart();
    }
    for number in 0..JOBS {
        world.wait_for(&format!("j{number}"), "completed");
    }
    // The workers lived all the time, so what they ran they kept.
    let text = std::fs::read_to_string(&runs).unwrap();
    let mut ran: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..JOBS).collect::<Vec<_>>());
}

#[test]
fn nothing_is_acknowledged_once_the_data_directory_is_gone() {
    for replace in [false, true] {
        let mut world = World::new();
        world.submit_exec("before", "true", &[]);
        // It lies in the data directory, too.
        let token = std::fs::read_to_string(world.data_dir().join("token")).unwrap();
        let away = world.path("away");
        std::fs::rename(world.data_dir(), &away).unwrap();
        if replace {
            std::fs::create_dir(world.data_dir()).unwrap();
        } else {
            std::fs::remove_dir_all(&away).unwrap();
        }
        let mut submit = world.command(&["submit", "--type", "t", "--id", "after"]);
        let output = submit.env("BELLWETHER_TOKEN", token.trim()).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "replaced: {replace}");
        assert_eq!(world.ended(), Some(74), "replaced: {replace}");
    }
}
