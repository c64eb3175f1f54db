//! How the process ends.

use std::io::{self, Write as _};
use std::process::ExitCode;

use bellwether_sdk::ClientError;

pub(crate) const HELP: &str = "\
Exit codes:
  0  it did what was asked
  1  it ran, and what it checked does not hold (a violated invariant, a mismatch)
  2  the arguments make no sense
  3  it could not be done (a file can't be read, the scheduler can't be reached)
  4  the scheduler refused
`run` and `submit --wait` exit with the code of the job's command, whatever it is: 126 if it can't be
run, 127 if there is no such command, 128 and a signal's number if that ended it. All else is 125 then:
the job was cancelled, timed out or refused, or the scheduler can't be reached. A job that was skipped
counts as the job that did not complete.";

const CHECK_FAILED: u8 = 1;
const MISUSED: u8 = 2;
const FAILED: u8 = 3;
const REFUSED: u8 = 4;
/// Of `run` and `submit --wait`, where all others may be the command's.
const NOT_THE_COMMANDS: u8 = 125;

/// What a subcommand that ran to its end has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    CheckFailed,
    /// The scheduler said no, and that was printed.
    Refused,
    /// With the code of its command.
    CommandFailed(u8),
    /// It did not complete, and that was no command's doing.
    NotTheCommand,
}

/// Arguments that make no sense together, which the parser of arguments can't tell.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misused(pub(crate) String);

/// Where a command's code is told, ours must not be taken for it.
pub(crate) fn beside_a_command(result: anyhow::Result<Verdict>) -> anyhow::Result<Verdict> {
    match result {
        Ok(Verdict::Refused | Verdict::CheckFailed) => Ok(Verdict::NotTheCommand),
        Err(error) if !is_broken_pipe(&error) => {
            tell(format_args!("error: {}", once(&error)));
            Ok(Verdict::NotTheCommand)
        }
        result => result,
    }
}

pub(crate) fn code(result: anyhow::Result<Verdict>) -> ExitCode {
    match result {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::CheckFailed) => ExitCode::from(CHECK_FAILED),
        Ok(Verdict::Refused) => ExitCode::from(REFUSED),
        Ok(Verdict::CommandFailed(code)) => ExitCode::from(code),
        Ok(Verdict::NotTheCommand) => ExitCode::from(NOT_THE_COMMANDS),
        // Whoever read the output has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("error: {}", once(&error)));
            let refused = matches!(error.downcast_ref(), Some(ClientError::Refused(_)));
            let misused = error.downcast_ref::<Misused>().is_some();
            ExitCode::from(match (refused, misused) {
                (true, _) => REFUSED,
                (_, true) => MISUSED,
                (false, false) => FAILED,
            })
        }
    }
}

/// With its causes, but for those that were told already: many errors end with their own cause.
pub(crate) fn once(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| {
        match told.is_empty() {
            true => cause,
            false if told.contains(&cause) => told,
            false => format!("{told}: {cause}"),
        }
    })
}

/// On standard error; if nobody reads that either, there is nobody left to tell.
pub(crate) fn tell(line: std::fmt::Arguments<'_>) {
    drop(writeln!(io::stderr(), "{line}"));
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
