//! How the process ends.

use std::io;
use std::process::ExitCode;

pub(crate) const HELP: &str = "\
Exit codes:
  0  it did what was asked
  1  it ran, and what it checked does not hold (a violated invariant, a mismatch)
  2  the arguments make no sense
  3  it could not be done (a file can't be read, a trace is malformed)";

const CHECK_FAILED: u8 = 1;
const FAILED: u8 = 3;

/// What a subcommand that ran to its end has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    CheckFailed,
}

pub(crate) fn code(result: anyhow::Result<Verdict>) -> ExitCode {
    match result {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::CheckFailed) => ExitCode::from(CHECK_FAILED),
        // Whoever read the output has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
