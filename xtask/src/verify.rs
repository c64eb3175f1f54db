//! What a change must pass. Nothing here writes to the tree: sources are checked, not fixed, and
//! the lock file is taken as it is.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::Result;

use crate::invocation::Invocation;
use crate::metadata::Metadata;
use crate::steps::Steps;
use crate::{audit, tidy};

/// The planted bugs are compiled in for lints and tests, so that the tests which demand that the
/// simulator catches them take part. They do nothing until a test switches one on.
const DEFECTS_PACKAGE: &str = "bellwether-sim";
const DEFECTS_FEATURE: &str = "defects";

/// Names the file in which tests write down that they can't run here; see `crates/testbed`.
const NOT_RUN: &str = "BELLWETHER_NOT_RUN";

pub(crate) fn run(root: &Path) -> Result<()> {
    let features = features(root)?;
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    let mut steps = Steps::default();

    let format = Invocation::cargo(&["fmt", "--all", "--", "--check"]);
    run_step(&mut steps, root, "format", &format);
    steps.step("tidy", "cargo xtask tidy".to_owned(), || tidy::run(root));

    let clippy = Invocation::cargo(&["clippy", "--workspace", "--all-targets", "--locked"])
        .arguments(&features)
        .arguments(&["--", "-D", "warnings"]);
    run_step(&mut steps, root, "clippy", &clippy);

    // After a build, because then the sources of all crates are on the disk.
    steps.step("audit", "cargo xtask audit".to_owned(), || audit::run(root));

    let docs = Invocation::cargo(&["doc", "--workspace", "--no-deps", "--locked"])
        .environment("RUSTDOCFLAGS", "-D warnings");
    run_step(&mut steps, root, "docs", &docs);

    let doc_tests =
        Invocation::cargo(&["test", "--workspace", "--doc", "--locked"]).arguments(&features);
    run_step(&mut steps, root, "doc tests", &doc_tests);

    // Last, and its closing lines once more below: they are what a reader looks for.
    let mut closing = ClosingLines::default();
    let colour = if std::io::stdout().is_terminal() { "always" } else { "never" };
    let tests = Invocation::cargo(&["nextest", "run", "--workspace", "--locked"])
        .arguments(&["--profile", "ci", "--color", colour])
        .arguments(&features);
    let not_run = std::env::temp_dir().join(format!("bellwether-not-run-{}", std::process::id()));
    let listing = tests.clone().environment(NOT_RUN, &not_run.to_string_lossy());
    steps.step("tests", tests.to_string(), || listing.run_watching(root, |line| closing.see(line)));
    closing.lines.extend(take_not_run(&not_run)?);

    steps.finish(&closing.lines)
}

/// What the tests wrote down that can't run here, one a line.
fn take_not_run(list: &Path) -> Result<Vec<String>> {
    if !list.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(list)?;
    std::fs::remove_file(list)?;
    Ok(text.lines().map(|line| format!("  did not run here: {line}")).collect())
}

fn run_step(steps: &mut Steps, root: &Path, name: &'static str, invocation: &Invocation) {
    steps.step(name, invocation.to_string(), || invocation.run(root));
}

fn features(root: &Path) -> Result<Vec<String>> {
    let members = Metadata::of_members(root)?;
    if members.has_feature(DEFECTS_PACKAGE, DEFECTS_FEATURE) {
        Ok(vec!["--features".to_owned(), format!("{DEFECTS_PACKAGE}/{DEFECTS_FEATURE}")])
    } else {
        Ok(Vec::new())
    }
}

/// nextest's summary and everything after it: the failed tests, by name.
#[derive(Debug, Default)]
struct ClosingLines {
    lines: Vec<String>,
}

impl ClosingLines {
    fn see(&mut self, line: &str) {
        let summary = line.contains("Summary") && line.contains(" run:");
        if summary || !self.lines.is_empty() {
            self.lines.push(line.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_run_is_in_the_summary() {
        let tree =
            crate::temporary_tree::TemporaryTree::new(&[("list", "a: no disk\nb: no strace\n")]);
        let list = tree.root().join("list");
        let lines = take_not_run(&list).unwrap();
        assert_eq!(lines, ["  did not run here: a: no disk", "  did not run here: b: no strace"]);
        assert_eq!(take_not_run(&list).unwrap(), [""; 0], "each run has its own list");
    }

    #[test]
    fn closing_lines_start_with_the_summary() {
        let mut closing = ClosingLines::default();
        for line in [
            "        PASS [   0.003s] xtask tidy",
            "     Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped",
            "        FAIL [   0.004s] xtask audit",
        ] {
            closing.see(line);
        }
        assert_eq!(closing.lines.len(), 2);
        assert!(closing.lines[0].contains("1 failed"));
    }
}
