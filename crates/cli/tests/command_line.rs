//! The real binary, from its arguments to its output and exit code.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn bellwether(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bellwether"))
        .args(arguments)
        .output()
        .expect("the binary was built for this test")
}

fn json(arguments: &[&str]) -> Value {
    let output = bellwether(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// Asserts the exit code, and that the error names what is wrong.
fn refused(arguments: &[&str], code: i32, wanted: &str) {
    let output = bellwether(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(wanted), "{stderr}");
    assert!(output.stdout.is_empty(), "errors do not go to standard output");
}

/// A file that is gone when the test ends.
struct Trace(PathBuf);

impl Trace {
    fn new(name: &str, lines: &[&str]) -> Trace {
        let file = format!("bellwether-{name}-{}.jsonl", std::process::id());
        let path = std::env::temp_dir().join(file);
        let mut writer = std::fs::File::create(&path).expect("the temporary folder is writable");
        for line in lines {
            writeln!(writer, "{line}").expect("the temporary folder has room");
        }
        Trace(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the temporary folder has a readable name")
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("the trace was written by this test");
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("a JSON object").keys().map(String::as_str).collect()
}

const STREAM: [&str; 3] = [
    r#"{"id":"a","type":"t","submit_ms":0,"duration_ms":100}"#,
    r#"{"id":"b","type":"t","submit_ms":0,"duration_ms":100}"#,
    r#"{"id":"c","type":"t","submit_ms":10,"duration_ms":100}"#,
];

#[test]
fn a_trace_is_simulated_with_every_strategy_asked_for() {
    let trace = Trace::new("stream", &STREAM);
    let report = json(&[
        "simulate",
        "trace",
        trace.path(),
        "--fleet",
        "2x1@1.0",
        "--strategy",
        "predictive",
        "--compare",
        "fifo,round_robin,least_loaded",
        "--json",
    ]);
    assert_eq!((&report["jobs"], &report["runs"]), (&3.into(), &0.into()));
    let strategies = &report["strategies"];
    for name in ["predictive", "fifo", "round_robin", "least_loaded"] {
        let strategy = &strategies[name];
        assert_eq!(strategy["makespan_ms"], 200.0, "{name}");
        assert_eq!(strategy["wait_ms"]["mean"], 30.0, "{name}");
        assert_eq!(strategy["response_ms"]["p99"], 190.0, "{name}");
        assert_eq!(strategy["slowdown"]["p50"], 1.0, "{name}");
        assert_eq!(strategy["utilization"]["mean"], 0.75, "{name}");
        assert_eq!((&strategy["hedges"], &strategy["duplicates"]), (&0.into(), &0.into()));
    }
    assert!(strategies["fifo"]["within_25_percent"].is_null());
    assert!(strategies["predictive"]["within_25_percent"].is_number());
    for wanted in ["makespan_ratio_mean", "makespan_ratio_p95"] {
        assert!(keys(&strategies["fifo"]).contains(&wanted));
    }
}

#[test]
fn jobs_of_a_run_wait_for_their_dependencies() {
    let trace = Trace::new(
        "dag",
        &[
            r#"{"id":"a","run":"r","type":"t","submit_ms":0,"duration_ms":100,"dependencies":[]}"#,
            r#"{"id":"b","run":"r","type":"t","submit_ms":0,"duration_ms":50,"dependencies":["a"]}"#,
            r#"{"id":"c","run":"s","type":"t","submit_ms":0,"duration_ms":50,"dependencies":[]}"#,
        ],
    );
    let report = json(&["simulate", "trace", trace.path(), "--fleet", "2x1@1.0", "--json"]);
    assert_eq!((&report["jobs"], &report["runs"]), (&3.into(), &2.into()));
    let strategy = &report["strategies"]["predictive"];
    assert_eq!(strategy["makespan_ms"], 200.0);
    assert_eq!(strategy["makespan_ratio_mean"], 1.0);
    assert_eq!(strategy["wait_ms"]["p99"], 0.0);
}

#[test]
fn the_same_seed_draws_the_same_arrivals() {
    let trace = Trace::new("seeds", &STREAM);
    let with = |seed: &str| {
        json(&[
            "simulate",
            "trace",
            trace.path(),
            "--fleet",
            "1x1@1.0",
            "--load",
            "0.9",
            "--arrivals",
            "poisson",
            "--seed",
            seed,
            "--json",
        ])
    };
    assert_eq!(with("1"), with("1"));
    assert_ne!(with("1"), with("2"));
}

#[test]
fn without_json_a_table_is_printed() {
    let trace = Trace::new("table", &STREAM);
    let output =
        bellwether(&["simulate", "trace", trace.path(), "--fleet", "2x1@1.0", "--compare", "fifo"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("3 jobs, 0 runs\n"), "{text}");
    let heading = text.lines().nth(2).unwrap();
    assert_eq!(heading.split_whitespace().collect::<Vec<_>>(), ["predictive", "fifo"]);
    assert!(text.contains("makespan s"), "{text}");
    assert!(output.stderr.is_empty(), "no progress bar where nobody watches");
}

#[test]
fn predictions_are_measured() {
    let trace = Trace::new("predict", &STREAM);
    for predictor in ["ema", "hierarchical", "auto"] {
        let report =
            json(&["simulate", "predict", trace.path(), "--predictor", predictor, "--json"]);
        assert_eq!(report["jobs"], 3);
        assert!(report["within_25_percent"].is_number() && report["median_error"].is_number());
    }
}

#[test]
fn faults_are_simulated_from_the_seed_on_and_repeat_exactly() {
    let faults =
        |seed: &str| json(&["simulate", "faults", "--seeds", "3", "--seed", seed, "--json"]);
    let report = faults("7");
    assert_eq!((&report["seeds"], &report["violations"]), (&3.into(), &Value::Array(Vec::new())));
    assert!(report["sim_hours"].as_f64().unwrap() > 0.0 && report["steps"].as_u64().unwrap() > 0);
    assert!(!keys(&report["faults"]).is_empty());
    assert_eq!(report["final_hash"].as_str().unwrap().len(), 64);
    assert_eq!(report, faults("7"));
    assert_ne!(report["final_hash"], faults("8")["final_hash"]);
}

#[test]
fn the_core_is_measured() {
    let report =
        json(&["bench", "core", "--workers", "3", "--waiting", "50", "--jobs", "200", "--json"]);
    assert!(report["jobs_per_s"].as_f64().unwrap() > 0.0);
    assert!(report["decision_ns"]["p50"].as_u64().unwrap() > 0);
    assert!(report["decision_ns"]["p99"].is_u64());
    assert!(report["bytes_per_waiting_job"].is_number());
}

#[test]
fn bad_arguments_exit_with_2_and_name_the_way_out() {
    let trace = Trace::new("arguments", &STREAM);
    let file = trace.path();
    let check = |more: &[&str], wanted: &str| {
        refused(&[&["simulate", "trace", file], more].concat(), 2, wanted);
    };
    check(&[], "--fleet");
    check(&["--fleet", "8x4"], "`8x4` is not count x slots @ speed; write it as 8x4@1.0");
    check(&["--fleet", "1x0@1"], "the number of slots `0` must be from 1 to 10000");
    check(&["--fleet", "1x1@1", "--load", "0"], "it must be above 0 and at most 100");
    check(&["--fleet", "1x1@1", "--load", "high"], "not a number; write it as 0.8");
    check(
        &["--fleet", "1x1@1", "--strategy", "best"],
        "it must be one of predictive, least_loaded, round_robin, affinity, random",
    );
    check(
        &["--fleet", "1x1@1", "--compare", "lifo"],
        "it must be one of fifo, round_robin, least_loaded",
    );
    refused(&["bench", "core", "--workers", "0"], 2, "--workers");
}

#[test]
fn bad_input_exits_with_3_and_names_file_and_line() {
    let check = |lines: &[&str], more: &[&str], wanted: &str| {
        let trace = Trace::new(&format!("bad-{}", lines.len() + 10 * more.len()), lines);
        let arguments = [&["simulate", "trace", trace.path(), "--fleet", "1x1@1"], more].concat();
        refused(&arguments, 3, wanted);
    };
    check(&[STREAM[0], "nonsense"], &[], ".jsonl:2: not a job: expected ident");
    check(
        &[r#"{"id":"a","run":"r","type":"t","submit_ms":0,"duration_ms":1,"dependencies":["x"]}"#],
        &[],
        "run r: job a depends on x, which is not a job of that run",
    );
    check(&[], &[], "has no jobs");
    check(&STREAM[..2], &["--load", "0.5"], "all jobs of the trace arrive at once");
    check(&STREAM, &["--compare", "fifo,fifo"], "strategy fifo is named twice");
    refused(
        &["simulate", "trace", "/no/such/file", "--fleet", "1x1@1"],
        3,
        "failed to read the trace /no/such/file: No such file or directory",
    );
}

#[test]
fn help_documents_the_exit_codes() {
    let output = bellwether(&["--help"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Exit codes:\n  0  "), "{text}");
}
