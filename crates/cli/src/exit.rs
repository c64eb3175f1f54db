//! How the process ends.

use std::io;
use std::process::ExitCode;

use bellwether_sdk::ClientError;

pub(crate) const HELP: &str = "\
Exit codes:
  0  it did what was asked
  1  it ran, and what it checked does not hold (a violated invariant, a mismatch)
  2  the arguments make no sense
  3  it could not be done (a file can't be read, the scheduler can't be reached)
  4  the scheduler refused
`run` and `submit --wait` exit with the job's own code: 0 if it completed, the code of its command
if that failed, 1 if it failed otherwise, 5 if it was cancelled or skipped.";

const CHECK_FAILED: u8 = 1;
const FAILED: u8 = 3;
const REFUSED: u8 = 4;
const JOB_CANCELLED: u8 = 5;

/// What a subcommand that ran to its end has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    CheckFailed,
    /// The scheduler said no, and that was printed.
    Refused,
    /// With the job's own code.
    JobFailed(u8),
    JobCancelled,
}

pub(crate) fn code(result: anyhow::Result<Verdict>) -> ExitCode {
    match result {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::CheckFailed) => ExitCode::from(CHECK_FAILED),
        Ok(Verdict::Refused) => ExitCode::from(REFUSED),
        Ok(Verdict::JobFailed(code)) => ExitCode::from(code),
        Ok(Verdict::JobCancelled) => ExitCode::from(JOB_CANCELLED),
        // Whoever read the output has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            let refused = matches!(error.downcast_ref(), Some(ClientError::Refused(_)));
            ExitCode::from(if refused { REFUSED } else { FAILED })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
