//! What people read: one is not many, nothing is said twice, and no name of the program's own gets out.

use crate::fixture::World;

/// What was printed once, or could be.
const NEVER: [&str; 4] = ["failed, it failed", "RetriesUsedUp", "used_up", "from 0 to"];

/// A count of one before a word for many, as "1 jobs".
fn miscounted(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = words.windows(2).find(|pair| {
        let count = pair[0].trim_start_matches(['(', '[', '"']);
        let thing = pair[1].trim_matches(|c: char| !c.is_ascii_alphabetic());
        let is_many = thing.len() > 3 && thing.ends_with('s') && !thing.ends_with("ss");
        // "of 1 waits", "1 is": not counted, but done.
        count == "1" && is_many && !["does", "holds", "goes", "waits", "is"].contains(&thing)
    });
    pair.map(|pair| pair.join(" "))
}

#[test]
fn one_is_told_as_one_wherever_it_is_told() {
    let mut world = World::with(|folder| {
        let file = folder.join("scheduler.yaml");
        std::fs::write(&file, "retry_base: 10ms\n").expect("the folder is writable");
        vec!["--config".to_owned(), file.display().to_string()]
    });
    let worker = world.worker("w1", &[]);
    world.submit_exec("bad", "exit 3", &["--retry", "1"]);
    world.wait_for("bad", "dead_lettered");
    world.submit_exec("good", "echo a line", &["--wait"]);
    let array = ["--array", "1-1", "--type", "none", "--json"];
    let array = world.json(&[&["submit", "--id", "one"], &array[..]].concat());
    let run = array["run"].as_str().expect("an array is a run").to_owned();
    world.submit_exec("late", "true", &["--delay", "1h"]);
    let (backup, points) = (world.path("the.backup"), world.path("points.jsonl"));
    let (backup, points) = (backup.display().to_string(), points.display().to_string());
    let mut said = String::new();
    let all = format!("{run}/one");
    let mut told = |world: &World, arguments: &[&str]| {
        let output = world.run(arguments);
        let text = [output.stdout, output.stderr].concat();
        said += &format!("$ {}\n{}", arguments.join(" "), String::from_utf8_lossy(&text));
    };
    for arguments in [
        &["status"][..],
        &["jobs"],
        &["job", "bad"],
        &["explain", "bad"],
        &["explain", "good"],
        &["explain", &all],
        &["explain", "late"],
        &["events", "--job", "bad"],
        &["decisions", "--job", "bad"],
        &["workers"],
        &["types"],
        &["queues"],
        &["runs", "list"],
        &["runs", "show", &run],
        &["predictions"],
        &["shadow"],
        &["logs", "good"],
        &["audit"],
        &["cancel", "--type", "none", "--dry-run"],
        &["cancel", "--type", "none"],
        &["retry", "bad"],
        &["checkpoints", &points],
        &["backup", &backup],
        &["doctor"],
    ] {
        told(&world, arguments);
    }
    drop(worker);
    world.stop();
    let dir = world.data_dir().display().to_string();
    told(&world, &["replay", "--data-dir", &dir]);
    let wrong: Vec<String> = said
        .lines()
        .filter(|line| NEVER.iter().any(|never| line.contains(never)) || miscounted(line).is_some())
        .map(str::to_owned)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n\n{said}");
    assert!(said.contains("its one retry is used up"), "{said}");
    assert!(said.contains("of 1 job, 1 ready (missing type)"), "{said}");
}

#[test]
fn a_miscount_is_found() {
    assert_eq!(miscounted("it has 1 jobs now"), Some("1 jobs".to_owned()));
    assert_eq!(miscounted("1 retries are used up").as_deref(), Some("1 retries"));
    assert_eq!(miscounted("1 job goes first, 11 jobs wait, 21 events"), None);
}
