//! The one place that prints.

/// Reports go to standard output, so that their last lines are the last lines of a redirected run.
#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

pub(crate) fn complain(line: &str) {
    eprintln!("{line}");
}
