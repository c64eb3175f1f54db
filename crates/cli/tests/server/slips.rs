//! What people type by mistake: it is told once, in our words, with the thing at fault and the way out.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::fixture::World;

/// How libraries speak, which nobody should have to read.
const THEIRS: &[&str] = &[
    "EOF while parsing",
    "expected value",
    "expected ident",
    "invalid type",
    "missing field",
    "unknown field",
    "a sequence",
    "valid UTF-8",
    "four digit integer",
    "Failed to deserialize",
    "panicked",
];

/// Arguments, the exit code, and what must be told.
const SLIPS: &[(&[&str], i32, &str)] = &[
    (&["submit", "empty.yaml"], 3, "there is no job in it"),
    (&["submit", "torn.json"], 3, "it ends too early, at line 1"),
    (&["submit", "binary"], 3, "binary is not text"),
    (&["submit", "lacking.yaml"], 3, "the payload is not {\"argv\":[..]"),
    (&["submit", "--type", "exec", "--payload", "no"], 2, "a text in it needs quotes"),
    (&["submit", "--type", "exec", "--payload", "{}"], 3, "`argv` is missing"),
    (
        &["submit", "--type", "exec", "--payload", r#"{"argv":"echo"}"#],
        3,
        "the text \"echo\" stands where a list belongs",
    ),
    (
        &["submit", "--type", "exec", "--payload", r#"{"argv":["true"],"argh":1}"#],
        3,
        "`argh` is not known; there is `argv`",
    ),
    (&["submit", "nowhere.yaml"], 3, "failed to read nowhere.yaml: No such file"),
    (&["serve", "--data-dir", "empty.yaml"], 3, "failed to make the folder empty.yaml: "),
    (&["serve", "--config", "nowhere.yaml"], 3, "failed to read nowhere.yaml: No such file"),
    (&["queue", "check", "--config", "nowhere.yaml"], 3, "failed to read nowhere.yaml: No such"),
    (&["runs", "show", "nobody"], 4, "`bellwether runs list` shows those that are [unknown_run]"),
    (&["job", "nobody"], 4, "job nobody is not known [unknown_job]"),
    (&["config", "get", "max_rety"], 3, "did you mean max_retry?"),
    (
        &["config", "set", "unreachable_after=0"],
        3,
        "heartbeat_interval is 5 s while unreachable_after is 0 s; it must be at least 1 ms",
    ),
    (
        &["serve", "--config", "none.yaml"],
        3,
        "none.yaml: connections_max is \"0\"; it must be at least 1",
    ),
    (
        &["serve", "--config", "torn.yaml"],
        3,
        "torn.yaml is not valid YAML: line 1 column 4: unclosed",
    ),
    (&["cancel"], 2, "name the jobs, or what they have in common"),
    (&["token", "issue", "--role", "viewer", "two words"], 2, "must be one word"),
    (&["token", "issue", "--role", "viewer", "--expires", "soon", "ci"], 2, "as 2027-01-31T08:"),
    (&["audit", "--since", "yesterday"], 2, "as 2027-01-31T08:00:00Z"),
    (
        &["restore", "--backup", "torn.json", "--into", "new"],
        3,
        "torn.json can't be read: the backup is cut off",
    ),
    (&["backup", "folder"], 3, "folder is a folder; name a file"),
    (&["top"], 3, "`top --once` prints what it shows"),
    (&["run", "--", "sh", "-c", "kill -9 $$"], 137, "exit code 137: signal 9 ended it"),
    (&["run", "--", "false"], 1, "exit code 1: it printed nothing"),
];

#[test]
fn what_was_mistyped_is_told_once_and_in_our_words() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(world.path(name), bytes).unwrap();
    write("empty.yaml", b"");
    write("torn.json", b"[");
    write("none.yaml", b"connections_max: 0");
    write("torn.yaml", b"a: [");
    write("binary", b"\x7fELF\xff\xfe");
    write("lacking.yaml", b"{type: exec}");
    std::fs::create_dir(world.path("folder")).unwrap();
    for (arguments, code, wanted) in SLIPS {
        let output = world
            .command(arguments)
            .current_dir(world.path(""))
            .stdin(Stdio::null())
            .output()
            .expect("the binary was built for this test");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {told}");
        assert!(told.contains(wanted), "{arguments:?}: {told}");
        if let Some(theirs) = THEIRS.iter().find(|theirs| told.contains(**theirs)) {
            panic!("{arguments:?} speaks as a library does ({theirs}): {told}");
        }
        let pieces: Vec<&str> = told.lines().next().unwrap_or_default().split(": ").collect();
        let doubled = pieces.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(doubled.is_none(), "{arguments:?} says it twice: {told}");
    }
    let left: Vec<_> = std::fs::read_dir(world.path("")).unwrap().flatten().collect();
    let left = left.iter().find(|entry| entry.file_name().to_string_lossy().contains("unfinished"));
    assert!(left.is_none(), "a backup that failed leaves nothing behind: {left:?}");
}

#[test]
fn an_address_that_is_taken_is_told_with_the_way_out() {
    let world = World::new();
    let taken = world.address.trim_start_matches("http://");
    let other = world.path("other").display().to_string();
    let output =
        world.run(&["serve", "--grpc", taken, "--http", "127.0.0.1:0", "--data-dir", &other]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("choose another address") && told.matches("os error").count() == 1,
        "{told}"
    );
}

#[test]
fn what_can_not_be_written_is_told_as_that() {
    let world = World::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = world.command(&["status"]).stdout(full).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("failed to write to standard output: No space left"), "{told}");
}

/// Without a home there is nowhere to leave a pointer to the token: both sides say where it is.
#[test]
fn where_the_token_can_not_be_found_its_place_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = crate::fixture::bellwether();
    command.env_remove("HOME").env_remove("XDG_RUNTIME_DIR").current_dir(folder.path());
    let child = command
        .args(["serve", "--json", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut server = crate::fixture::Process(child);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let hello: serde_json::Value = serde_json::from_str(&line).expect("it started");
    let address = format!("http://{}", hello["grpc"].as_str().unwrap());
    let told = std::fs::read_to_string(&log).unwrap();
    assert!(told.contains("give them --token-file data/token"), "{told}");
    let ask = |more: &[&str]| {
        let mut command = crate::fixture::bellwether();
        command.env_remove("HOME").env_remove("XDG_RUNTIME_DIR").current_dir(folder.path());
        command.args(["status", "--server", &address]).args(more).output().unwrap()
    };
    let told = String::from_utf8(ask(&[]).stderr).unwrap();
    assert!(told.contains("--token-file DIR/token"), "{told}");
    assert_eq!(ask(&["--token-file", "data/token"]).status.code(), Some(0));
}

#[test]
fn what_is_wrong_with_a_request_is_told_in_our_words() {
    let world = World::new();
    let header = world.path("header").display().to_string();
    std::fs::write(&header, world.fine(&["token", "header"])).unwrap();
    for (path, body, wanted) in [
        ("jobs?limit=many", None, "limit: it must be a whole number"),
        ("jobs?limit=99999999999", None, "limit: the number is too large"),
        ("jobs?colour=red", None, "`colour` is not known; there is `state`"),
        ("events?follow=maybe", None, "follow: it must be true or false"),
        ("jobs", Some(""), "the body could not be read: there is nothing in it"),
        ("jobs", Some("{\"type\":"), "it ends too early, at line 1 column 8"),
        ("jobs", Some("{\"type\":t}"), "line 1 column 10 is not as JSON has it"),
    ] {
        let url = format!("http://{}/scheduler/{path}", world.http);
        let mut curl = std::process::Command::new("curl");
        curl.args(["--silent", "-H", &format!("@{header}"), &url]);
        if let Some(body) = body {
            curl.args(["-H", "content-type: application/json", "-d", body]);
        }
        let told = String::from_utf8(curl.output().unwrap().stdout).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).expect(path);
        let detail = told["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(wanted), "{path} {body:?}: {told}");
        assert!(!THEIRS.iter().any(|theirs| detail.contains(theirs)), "{path}: {told}");
    }
}
