//! The benchmark and the demo.

use serde_json::Value;

use crate::fixture::bellwether;

fn bench(more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let given = more.contains(&"--workers");
    let fleet: &[&str] = if given { &[] } else { &["--workers", "2", "--slots", "4"] };
    let output = bellwether()
        .current_dir(folder.path())
        .args(["bench", "--json"])
        .args(fleet)
        .args(more)
        .output()
        .expect("the binary was built for this test");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let left = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert_eq!(left, 0, "nothing is left behind");
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

#[test]
fn the_benchmark_reports_what_it_promises() {
    for more in [
        &["--jobs", "2000"][..],
        &["--jobs", "200", "--rate", "1000"],
        &["--jobs", "500", "--guarantee", "exactly_once"],
        &["--chain", "20"],
        &["--fan", "50"],
        &["--jobs", "200", "--workers", "1001", "--slots", "1"],
    ] {
        let report = bench(more);
        for key in ["submit_per_s", "complete_per_s", "rss_bytes", "total_s"] {
            assert!(report[key].as_f64().unwrap() > 0.0, "{more:?} {key}: {report}");
        }
        for key in ["start_ms", "result_ms"] {
            for quantile in ["p50", "p99", "p999"] {
                assert!(report[key][quantile].as_f64().unwrap() > 0.0, "{more:?}: {report}");
            }
        }
        assert!(report["fsync_ms"]["p50"].as_f64().unwrap() > 0.0);
        assert!(report["fsync_ms"]["p99"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn snapshots_of_jobs_that_wait_are_measured() {
    let report = bench(&["--jobs", "2000", "--rate", "1000", "--waiting", "5000", "--snapshots"]);
    let stalls = &report["stalls"];
    assert!(stalls["snapshots"].as_u64().unwrap() > 0, "{report}");
    for key in ["start_max_ms", "round_max_ms", "slice_max_ms", "rss_before_bytes"] {
        assert!(stalls[key].as_f64().unwrap() > 0.0, "{key}: {report}");
    }
}

#[test]
fn being_looked_at_is_measured_against_not_being() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let output = bellwether()
        .current_dir(folder.path())
        .args(["bench", "sinks", "--jobs", "2000", "--rounds", "1", "--json"])
        .output()
        .expect("the binary was built for this test");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert!(report["ratio"].as_f64().unwrap() > 0.0, "{report}");
    let rounds = report["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2, "{report}");
    let on = rounds.iter().find(|round| round["on"] == true).unwrap();
    assert!(on["seen"]["clickhouse_dropped"] == 0 && on["seen"]["scrapes"] != 0, "{report}");
}

#[test]
fn what_trust_costs_is_measured() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let output = bellwether()
        .current_dir(folder.path())
        .args(["bench", "trust", "--jobs", "2000", "--rounds", "1", "--json"])
        .output()
        .expect("the binary was built for this test");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert!(report["ratio"].as_f64().unwrap() > 0.0, "{report}");
    // In a debug build on a busy machine; released it is below 100.
    let took = report["report_us"].as_f64().unwrap();
    assert!(took > 0.0 && took < 2_000.0, "{report}");
}

#[test]
fn slow_followers_and_a_long_history_are_measured() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    for (arguments, keys) in [
        ("followers --readers 20 --jobs 500 --rounds 1", ["ratio", "without_p99_ms"]),
        ("history --rows 2000 --queries 5", ["rows", "fill_per_s"]),
    ] {
        let output = bellwether()
            .current_dir(folder.path())
            .arg("bench")
            .args(arguments.split(' '))
            .arg("--json")
            .output()
            .expect("the binary was built for this test");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
        assert!(keys.iter().all(|key| report[key].as_f64().unwrap() > 0.0), "{report}");
    }
}

#[test]
fn the_demo_ends_by_itself_and_loses_nothing() {
    let output = bellwether().arg("demo").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("128 of 128 jobs completed"), "{text}");
    assert!(text.contains("bee is killed") && text.contains("bee is back"), "{text}");
    assert!(text.contains("was chosen because"), "{text}");
    assert!(!text.contains('\x1b'), "no colours where there is no terminal");
}

#[test]
fn commands_that_print_are_measured_against_silent_ones() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let output = bellwether()
        .current_dir(folder.path())
        .args(["bench", "output", "--jobs", "20", "--lines", "1000", "--rounds", "1", "--json"])
        .output()
        .expect("the binary was built for this test");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert!(report["ratio"].as_f64().unwrap() > 0.0, "{report}");
    for round in report["rounds"].as_array().unwrap() {
        let wanted = if round["printing"] == true { 3_893 } else { 0 };
        assert_eq!(round["kept_bytes"], wanted, "{report}");
    }
}
