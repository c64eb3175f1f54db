//! What jobs print: live, after a failure, after a crash, and when it is too much.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::fixture::{Process, World, wait_until};

fn write_config(folder: &std::path::Path, text: &str) -> Vec<String> {
    let path = folder.join("scheduler.yaml");
    std::fs::write(&path, text).expect("the folder is ours");
    vec!["--config".to_owned(), path.display().to_string()]
}

#[test]
fn a_failing_command_is_told_with_what_it_printed() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let run = world.run(&["run", "--id", "j", "--", "sh", "-c", "echo out; echo bad >&2; exit 3"]);
    assert_eq!(run.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&run.stdout), "out\n");
    assert!(String::from_utf8_lossy(&run.stderr).contains("bad\n"));
    assert_eq!(world.fine(&["logs", "j"]), "out\n");
    let lines = world.lines(&["logs", "j", "--json"]);
    let streams: Vec<&str> = lines.iter().map(|line| line["stream"].as_str().unwrap()).collect();
    assert!(streams.contains(&"stdout") && streams.contains(&"stderr"), "{lines:?}");
}

#[test]
fn output_comes_while_the_command_runs() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let go = world.path("go");
    let script =
        format!("echo first; while [ ! -e {} ]; do sleep 0.05; done; echo second", go.display());
    let mut child = world
        .command(&["run", "--id", "j", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut run = Process(child);
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    assert_eq!(world.state("j"), "running");
    let mut following = world
        .command(&["logs", "j", "--follow"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut followed = following.stdout.take().unwrap();
    let mut following = Process(following);
    std::fs::write(&go, "").unwrap();
    let (mut rest, mut all) = (String::new(), String::new());
    stdout.read_to_string(&mut rest).unwrap();
    followed.read_to_string(&mut all).unwrap();
    assert_eq!((rest.as_str(), all.as_str()), ("second\n", "first\nsecond\n"));
    assert_eq!((run.wait(), following.wait()), (Some(0), Some(0)));
}

#[test]
fn every_attempt_keeps_its_own_and_so_does_one_that_ran_out_of_time() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let script = "echo attempt $BELLWETHER_ATTEMPT line 1; echo line 2; \
                  [ $BELLWETHER_ATTEMPT = 1 ] && exit 1; sleep 60";
    world.submit_exec("j", script, &["--retry", "1", "--timeout", "2"]);
    wait_until("it has ended", || ["failed", "dead_lettered"].contains(&world.state("j").as_str()));
    let all = "attempt 1 line 1\nline 2\nattempt 2 line 1\nline 2\n";
    assert_eq!(world.fine(&["logs", "j"]), all);
    assert_eq!(world.fine(&["logs", "j", "--attempt", "2"]), "attempt 2 line 1\nline 2\n");
    assert_eq!(world.fine(&["logs", "j", "--attempt", "1", "--tail", "1"]), "line 2\n");
    assert_eq!(world.fine(&["logs", "j", "--attempt", "3"]), "");
    let unknown = world.run(&["logs", "nobody"]);
    assert_eq!(unknown.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("job nobody is not known"));
}

#[test]
fn a_killed_scheduler_loses_no_line() {
    let mut world = World::new();
    let _worker = world.worker("w1", &[]);
    let (go, there) = (world.path("go"), world.path("there"));
    let script = format!(
        "i=0; while [ ! -e {} ]; do i=$((i+1)); echo line $i; sleep 0.01; \
         [ $i = 20 ] && touch {}; done; echo end $i",
        go.display(),
        there.display()
    );
    world.submit_exec("j", &script, &[]);
    wait_until("it prints", || there.exists());
    for _ in 0..3 {
        world.crash_and_restart();
        wait_until("the worker is back", || {
            let known = world.lines(&["workers", "--json"]);
            known.iter().any(|worker| worker["connected"] == true)
        });
    }
    std::fs::write(&go, "").unwrap();
    world.wait_for("j", "completed");
    let text = world.fine(&["logs", "j"]);
    let (last, lines) = text.lines().collect::<Vec<_>>().split_last().map_or_else(
        || panic!("nothing is left"),
        |(last, lines)| ((*last).to_owned(), lines.to_vec()),
    );
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(*line, format!("line {}", index + 1));
    }
    assert_eq!(last, format!("end {}", lines.len()));
}

#[test]
fn of_a_hundred_megabytes_the_beginning_and_the_end_are_kept_and_the_cut_is_told() {
    let world = World::new();
    let worker = world.worker("w1", &[]);
    let script = "echo begin; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo end";
    let run = world.run(&["run", "--id", "j", "--", "sh", "-c", script]);
    assert_eq!(run.status.code(), Some(0));
    let cut = String::from_utf8_lossy(&run.stderr).contains("bytes of output were cut here");
    assert!(cut, "{}", String::from_utf8_lossy(&run.stderr));
    for output in [run, world.run(&["logs", "j"])] {
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("begin\nxxx") && text.ends_with("xxx\nend\n"), "{}", text.len());
    }
    let lines = world.lines(&["logs", "j", "--json"]);
    let kept: u64 = lines.iter().map(|line| line["text"].as_str().unwrap().len() as u64).sum();
    let cut: u64 = lines.iter().filter_map(|line| line["cut"].as_u64()).sum();
    assert_eq!(kept + cut, 100_000_000 + "begin\n\nend\n".len() as u64);
    assert!(kept <= 1 << 20 && kept > 900 << 10, "{kept}");
    assert!(folder_bytes(&world.data_dir().join("logs")) < 16 << 20);
    for process in [world.server_id(), worker.0.id()] {
        let peak = peak_bytes(process);
        assert!(peak < 256 << 20, "{peak}");
    }
}

#[test]
fn all_logs_together_stay_within_their_limit() {
    let world = World::with(|folder| write_config(folder, "logs_total_max: 1MiB\n"));
    let _worker = world.worker("w1", &[]);
    for job in 0..8 {
        let id = format!("j{job}");
        world.submit_exec(&id, "head -c 300000 /dev/zero | tr '\\0' x", &[]);
        world.wait_for(&id, "completed");
    }
    assert_eq!(world.fine(&["logs", "j0"]), "");
    assert_eq!(world.fine(&["logs", "j7"]).len(), 300_000);
}

#[test]
fn a_scheduler_that_keeps_no_output_has_the_end_of_it_in_the_result() {
    let world = World::with(|folder| write_config(folder, "log_bytes_max: 0\n"));
    let _worker = world.worker("w1", &[]);
    let run = world.run(&["run", "--", "sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"]);
    assert_eq!(run.stdout.len(), 64 << 10);
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(told.contains("the first 34464 bytes of standard output were cut"), "{told}");
}

#[test]
fn standard_input_is_passed_on_request_and_else_told_of() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let given = world.path("given");
    std::fs::write(&given, "hello\n").unwrap();
    let run = |more: &[&str]| {
        let arguments = [&["run"], more, &["--", "cat"]].concat();
        let stdin = std::fs::File::open(&given).unwrap();
        world.command(&arguments).stdin(stdin).output().unwrap()
    };
    let passed = run(&["--stdin"]);
    assert_eq!(String::from_utf8_lossy(&passed.stdout), "hello\n");
    let refused = run(&[]);
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("does not get standard input; --stdin passes it on"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_a_handler_logs_are_the_jobs_output() {
    let world = World::new();
    let handler = |context: bellwether_sdk::Context| async move {
        for line in 1..=1_000 {
            context.log(format!("line {line}"));
        }
        bellwether_sdk::Outcome::done("{}")
    };
    let worker = bellwether_sdk::Worker::builder(&world.address).job("count", handler);
    let mut worker = worker.start().unwrap();
    world.fine(&["submit", "--type", "count", "--id", "j", "--wait"]);
    let text = world.fine(&["logs", "j"]);
    let wanted: String = (1..=1_000).map(|line| format!("line {line}\n")).collect();
    assert_eq!(text, wanted);
    assert_eq!(world.lines(&["logs", "j", "--json"])[0]["stream"], "log");
    // It leaves only once all of it is confirmed.
    worker.drain();
    worker.ended().await.unwrap();
}

fn folder_bytes(folder: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("there is output");
    files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum()
}

fn peak_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("the process runs") << 10
}
