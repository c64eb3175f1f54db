//! Tests that can't run here.

use std::fs::File;
use std::io::Write as _;

/// Names the file in which `cargo xtask verify` finds what did not run.
const FILE: &str = "BELLWETHER_NOT_RUN";

/// Called by a test that can't run on this machine, which then returns. The summary of
/// `cargo xtask verify` says so.
///
/// # Panics
/// Where `CI=true`, because there everything must run.
pub fn cannot_run(reason: &str) {
    let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!ci, "{reason}, and with CI=true every test must run");
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    eprint!("did not run: {line}");
    if let Some(path) = std::env::var_os(FILE) {
        let file = File::options().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of what did not run can be written");
    }
}
