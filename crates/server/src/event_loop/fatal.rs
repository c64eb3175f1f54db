//! Ends that the process must not outlive.

use bellwether_journal::AppendError;

use crate::event_loop::RecoverError;

/// The exit code when the journal can no longer be trusted to have kept what was written.
pub const EXIT_JOURNAL_FAILED: i32 = 74;
/// The exit code when another scheduler has taken over.
pub const EXIT_FENCED: i32 = 75;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fatal {
    #[error(transparent)]
    Append(AppendError),
    #[error("the state could not be rebuilt from the journal: {0}")]
    Recover(RecoverError),
    #[error("this scheduler can't go on among the others: {0}")]
    Cluster(String),
    #[error("a thread could not be started: {0}")]
    Thread(std::io::Error),
}

/// Says why and ends the process at once: after a failed sync the kernel may have dropped what it
/// could not write, so going on could acknowledge what is lost.
#[expect(clippy::print_stderr, reason = "the last words must not depend on a subscriber")]
pub(crate) fn end(why: Fatal) -> ! {
    tracing::error!(%why, "the scheduler ends");
    eprintln!("bellwether: {why}");
    let code = match why {
        Fatal::Append(AppendError::Fenced { .. }) => EXIT_FENCED,
        Fatal::Append(_) | Fatal::Recover(_) | Fatal::Cluster(_) | Fatal::Thread(_) => {
            EXIT_JOURNAL_FAILED
        }
    };
    std::process::exit(code)
}
