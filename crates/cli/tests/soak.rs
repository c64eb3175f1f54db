//! `bellwether soak`: a round with every fault, and one that must fail.

use std::process::{Command, Output};

use serde_json::Value;

/// What it printed, the verdict last.
fn soak(arguments: &[&str]) -> (Output, Vec<Value>) {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let output = Command::new(env!("CARGO_BIN_EXE_bellwether"))
        .args(["soak", "--json", "--data-dir"])
        .arg(folder.path())
        .args(arguments)
        .output()
        .expect("the binary was built for this test");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("--json prints JSON"));
    let lines = lines.collect();
    (output, lines)
}

#[test]
fn three_minutes_of_everything_break_no_promise() {
    // The figures of a debug build on a busy machine say little, so their limits are wide; what was
    // promised holds anywhere.
    let arguments = "--minutes 3 --rate 100 --faults all --fault-every 5 --history-jobs-max 4000 \
                     --lag-max 60 --read-p99-max 10000 --growth-max 100";
    let (output, lines) = soak(&arguments.split_whitespace().collect::<Vec<_>>());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{lines:#?} {stderr}");
    let (verdict, minutes) = lines.split_last().expect("something is printed");
    assert_eq!(minutes.len(), 3, "{lines:#?}");
    assert!(minutes.iter().all(|minute| minute["mixed_jobs"] != 0), "{lines:#?}");
    assert!(verdict["acknowledged"].as_u64().is_some_and(|jobs| jobs > 1_000), "{verdict}");
    let faults = verdict["faults"].as_object().expect("faults by name");
    let times: u64 = faults.values().filter_map(Value::as_u64).sum();
    assert!(times >= 5, "{verdict}");
    eprintln!("{verdict}");
}

#[test]
fn what_is_beyond_its_limit_fails_the_soak() {
    let arguments = "--minutes 1 --rate 20 --faults none --disk-max 1";
    let (output, lines) = soak(&arguments.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1), "{lines:#?}");
    let verdict = lines.last().expect("something is printed");
    assert!(verdict["broken"].to_string().contains("bytes of disk; at most 1"), "{verdict}");
}
