//! A page's commands, run in one shell.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use bellwether_testbed::cannot_run;

use crate::page::{Page, Step, root};

/// Waits as a person does who has started something: until it is there. Whoever writes an address of
/// their own waits for themselves.
const PRELUDE: &str = r#"
set -e -o pipefail
ip link set lo up
wait_for() {
    for _ in $(seq 600); do
        "$@" > /dev/null 2>&1 && return
        sleep 0.05
    done
    echo "waited in vain for: $*"; return 1
}
is_ready() { curl --insecure --fail http://127.0.0.1:7071/readyz || curl --insecure --fail https://127.0.0.1:7071/readyz; }
has_worker() { bellwether workers --json | grep -q '"connected":true'; }
wait_for_scheduler() { wait_for is_ready; }
wait_for_worker() { wait_for has_worker; }
"#;

/// Runs the page, and compares.
pub(crate) fn check(page: &Page, left_out: usize) {
    let why = format!("{}: blocks that are not run: {:?}", page.path, page.left_out);
    assert_eq!(page.left_out.len(), left_out, "{why}");
    page.ours_left_out.iter().for_each(|command| could_be_run(page, command));
    if page.steps.is_empty() {
        return;
    }
    let Some(folder) = room() else { return };
    let home = folder.path();
    let binary = Path::new(env!("CARGO_BIN_EXE_bellwether"));
    let binaries = binary.parent().expect("it lies in a folder").display();
    let path = format!("{binaries}:{}", std::env::var("PATH").expect("there is a PATH"));
    std::fs::write(home.join(".script"), script(page)).expect("the folder is writable");
    let output = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", ".script"])
        .current_dir(home)
        .env_clear()
        .envs([("PATH", path.as_str()), ("HOME", &home.display().to_string()), ("LANG", "C.UTF-8")])
        .output()
        .expect("the shell can be started");
    let printed = |index: usize| {
        let bytes = std::fs::read(home.join(format!(".printed-{index}"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let reached = std::fs::read_to_string(home.join(".reached")).unwrap_or_default();
    if !output.status.success() {
        let index = reached.trim().parse().unwrap_or(0);
        let Step { line, script, .. } = &page.steps[index];
        let (stderr, printed) = (String::from_utf8_lossy(&output.stderr), printed(index));
        panic!("{}:{line}: it failed\n{script}\n\nit printed:\n{printed}\n{stderr}", page.path);
    }
    for (index, step) in page.steps.iter().enumerate() {
        let Some(shown) = &step.shown else { continue };
        let printed = printed(index);
        let lines: Vec<&str> = printed.lines().collect();
        let at = format!("{}:{}", page.path, step.line);
        assert!(matches(shown, &lines), "{at}: {}\nprints:\n{printed}", step.script);
    }
}

/// Whether its command and its options are known: an unknown one is found before the help is.
fn could_be_run(page: &Page, command: &str) {
    let words = command.split("  #").next().unwrap_or(command).split_whitespace().skip(1);
    let output = Command::new(env!("CARGO_BIN_EXE_bellwether")).args(words).arg("--help").output();
    let output = output.expect("the binary was built for this test");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {command}\n{stderr}", page.path);
}

/// The folder that the commands find themselves in: that of somebody who has the sources.
fn room() -> Option<tempfile::TempDir> {
    let tried = Command::new("unshare").args(["--net", "--pid", "--fork", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        cannot_run("a network of one's own needs root");
        return None;
    }
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    for name in ["docs", "examples", "crates", "packaging"] {
        let link = std::os::unix::fs::symlink(root().join(name), folder.path().join(name));
        link.expect("the folder is writable");
    }
    Some(folder)
}

fn script(page: &Page) -> String {
    let mut text = PRELUDE.to_owned();
    for (index, step) in page.steps.iter().enumerate() {
        writeln!(text, "echo {index} > .reached\n{{").expect("text can be written");
        for line in step.script.lines() {
            text.push_str(line);
            text.push('\n');
            // Comments of a line are for people.
            let command = line.split("  #").next().unwrap_or(line).trim_end();
            if command.starts_with("redis-server") && command.ends_with('&') {
                text.push_str("wait_for redis-cli ping\n");
            } else if command.starts_with("bellwether serve") && command.ends_with('&') {
                text.push_str("wait_for_scheduler\n");
            } else if command.starts_with("bellwether worker") && command.ends_with('&') {
                text.push_str("wait_for_worker\n");
            }
        }
        writeln!(text, "}} > .printed-{index} 2>&1 < /dev/null").expect("text can be written");
    }
    text
}

/// Whether the lines are those that are shown, `...` being anything.
fn matches(shown: &[String], lines: &[&str]) -> bool {
    match (shown.split_first(), lines.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "..." => {
            (0..=lines.len()).any(|passed| matches(rest, &lines[passed..]))
        }
        (Some((first, rest)), Some((line, others))) => {
            line_matches(first, line) && matches(rest, others)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn line_matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn dots_stand_for_anything() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(line_matches("a...c", "abc") && line_matches("a ... c ...", "a 1 c 2"));
    assert!(!line_matches("a...c", "abcd") && !line_matches("abc", "abcd"));
    assert!(matches(&shown("a\n...\nz"), &["a", "b", "c", "z"]));
    assert!(!matches(&shown("a\nz"), &["a", "b", "z"]));
}
