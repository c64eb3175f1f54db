//! What a scheduler tells of itself.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixture::Process;

#[test]
fn lines_are_json_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bellwether"))
        .args(["serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path().join("data"))
        .env("BELLWETHER_LOG_FORMAT", "json")
        .env("BELLWETHER_LOG_LEVEL", "error,bellwether_server=warn")
        // Nobody is there, which is worth a warning.
        .env("BELLWETHER_CLICKHOUSE_URL", "http://127.0.0.1:1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = child.stderr.take().unwrap();
    let _process = Process(child);
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(told["level"], "WARN");
    let message = told["fields"]["message"].as_str().unwrap();
    assert!(message.contains("ClickHouse"), "{line}");
    assert!(told["timestamp"].is_string() && told["target"].is_string(), "{line}");
}

#[test]
fn a_level_that_is_none_is_refused() {
    for level in ["server=loud", "loud", "info,loud"] {
        let refused = Command::new(env!("CARGO_BIN_EXE_bellwether"))
            .args(["serve", "--data-dir", "/dev/null/nowhere", "--log", level])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("log.level is"), "{level}: {said}");
    }
}
