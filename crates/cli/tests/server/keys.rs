//! Idempotency keys stand for their jobs as long as is promised, however many there are.

use serde_json::{Value, json};

use crate::fixture::World;

/// Far more than the memory of these schedulers holds.
const JOBS: usize = 400;

fn world(settings: &str) -> World {
    World::with(|folder| {
        let file = folder.join("scheduler.yaml");
        let text = format!("idempotency_max: 100\nretain_jobs: 5\n{settings}\n");
        std::fs::write(&file, text).expect("a file of settings");
        vec!["--config".to_owned(), file.display().to_string()]
    })
}

/// Jobs with a key each.
fn submit(world: &World, jobs: std::ops::Range<usize>) -> std::process::Output {
    let job = |number: usize| {
        let (id, key) = (format!("j{number}"), format!("k{number}"));
        let payload = json!({ "n": number });
        json!({ "id": id, "type": "t", "idempotency_key": key, "payload": payload }).to_string()
    };
    let file = world.path("jobs.jsonl");
    std::fs::write(&file, jobs.map(job).collect::<Vec<_>>().join("\n")).expect("a file of jobs");
    world.run(&["submit", &file.display().to_string()])
}

fn again(world: &World, number: usize, payload: &Value) -> std::process::Output {
    let (key, payload) = (format!("k{number}"), payload.to_string());
    let arguments = ["submit", "--type", "t", "--id", "second", "--json", "--payload", &payload];
    world.run(&[&arguments[..], &["--idempotency-key", &key]].concat())
}

fn is_still(world: &World, number: usize) {
    let output = again(world, number, &json!({ "n": number }));
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains(&format!("\"j{number}\"")), "key k{number} stands for {told}");
    assert!(!world.run(&["job", "second", "--json"]).status.success(), "a second job was made");
}

#[test]
fn more_keys_than_memory_holds_stand_for_their_jobs_through_a_crash() {
    let mut world = world("");
    assert!(submit(&world, 0..JOBS).status.success());
    for number in [0, 1, JOBS / 2, JOBS - 1] {
        is_still(&world, number);
    }
    world.crash_and_restart();
    for number in [0, 1, JOBS / 2, JOBS - 1] {
        is_still(&world, number);
    }
    // What was in memory alone when it died goes to the disk after it.
    assert!(submit(&world, JOBS..JOBS + 100).status.success());
    world.crash_and_restart();
    for number in [0, JOBS - 1, JOBS + 99] {
        is_still(&world, number);
    }
}

#[test]
fn a_key_with_another_payload_is_a_conflict_wherever_it_is_kept() {
    let world = world("");
    assert!(submit(&world, 0..JOBS).status.success());
    for number in [0, JOBS - 1] {
        let output = again(&world, number, &json!({ "n": "other" }));
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && told.contains("another type or payload"), "{told}");
        is_still(&world, number);
    }
}

#[test]
fn a_key_that_can_not_be_kept_is_refused_and_none_is_forgotten_for_it() {
    let world = world("idempotency_disk_max: 60");
    let output = submit(&world, 0..200);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "more keys were taken than can be kept");
    assert!(told.contains("no more idempotency keys and ids can be kept"), "{told}");
    is_still(&world, 0);
}

#[test]
fn keys_that_nobody_chose_take_no_room_from_those_that_are_given() {
    let world = world("idempotency_disk_max: 60");
    // The command line gives each a key of its own, far more than can be kept, and the scheduler an id.
    let file = world.path("jobs.jsonl");
    let jobs = (0..JOBS).map(|number| json!({ "type": "t", "payload": number }).to_string());
    std::fs::write(&file, jobs.collect::<Vec<_>>().join("\n")).expect("a file of jobs");
    assert!(submit(&world, 0..1).status.success());
    let output = world.run(&["submit", &file.display().to_string()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    is_still(&world, 0);
}

#[test]
fn an_id_stands_for_its_job_long_after_the_scheduler_has_forgotten_both() {
    let mut world = world("");
    assert!(submit(&world, 0..JOBS).status.success());
    assert!(world.run(&["cancel", "--type", "t"]).status.success());
    let is_taken = |world: &World, number: usize| {
        let id = format!("j{number}");
        let output = world.run(&["submit", "--type", "t", "--id", &id, "--json"]);
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && told.contains("exists already"), "{id}: {told}");
    };
    for number in [0, JOBS / 2, JOBS - 1] {
        is_taken(&world, number);
    }
    world.crash_and_restart();
    for number in [0, JOBS / 2, JOBS - 1] {
        is_taken(&world, number);
    }
}

#[test]
fn keys_are_in_few_files_however_many_runs_were_written() {
    let world = world("");
    // A run is written for each sixteenth of what memory holds.
    for part in 0..5 {
        assert!(submit(&world, part * JOBS..(part + 1) * JOBS).status.success());
    }
    let files = std::fs::read_dir(world.path("data")).expect("the data directory is there");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    let runs: Vec<String> = names.filter(|name| name.ends_with(".run")).collect();
    assert!((1..=35).contains(&runs.len()), "{runs:?}");
    for number in [0, 1, 5 * JOBS - 1] {
        is_still(&world, number);
    }
}
