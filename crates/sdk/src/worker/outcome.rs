//! How an attempt ended, in the words of its author.

use std::fmt::Display;
use std::time::Duration;

use bellwether_wire::v1::{self, report};
use bytes::Bytes;

use crate::job::micros;

/// The largest result that is reported.
pub(crate) const RESULT_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done(Bytes),
    /// It failed, and counts against the job's retries. Without `after` the job's backoff holds.
    Retry {
        after: Option<Duration>,
        error: String,
    },
    /// It failed, and no retry will help.
    Cancel {
        error: String,
    },
    /// This worker has no handler for such jobs: it counts for nothing, and it is not asked again.
    NoHandler {
        error: String,
    },
    /// Another worker, or any with a role (`role:NAME`), is to go on with it: it counts for nothing.
    HandOff {
        receiver: String,
    },
    /// Not yet: it counts for nothing and comes again.
    Snooze {
        after: Duration,
    },
}

impl Outcome {
    pub fn done(result: impl Into<Bytes>) -> Outcome {
        Outcome::Done(result.into())
    }

    pub fn retry(error: impl Display) -> Outcome {
        Outcome::Retry { after: None, error: error.to_string() }
    }

    pub fn retry_after(after: Duration, error: impl Display) -> Outcome {
        Outcome::Retry { after: Some(after), error: error.to_string() }
    }

    pub fn cancel(error: impl Display) -> Outcome {
        Outcome::Cancel { error: error.to_string() }
    }

    pub fn snooze(after: Duration) -> Outcome {
        Outcome::Snooze { after }
    }

    pub(crate) fn into_report(self) -> report::Report {
        let fail = |cause: v1::FailureCause, error, after: Option<Duration>| {
            let retry_after = after.map(micros);
            report::Report::Fail(v1::Fail { cause: cause.into(), error, retry_after })
        };
        match self {
            Outcome::Done(result) if result.len() > RESULT_BYTES_MAX => {
                let error = format!(
                    "the result has {} bytes; at most {RESULT_BYTES_MAX} can be reported",
                    result.len()
                );
                fail(v1::FailureCause::Permanent, error, None)
            }
            Outcome::Done(result) => report::Report::Complete(v1::Complete { result }),
            Outcome::Retry { after, error } => fail(v1::FailureCause::Failed, error, after),
            Outcome::Cancel { error } => fail(v1::FailureCause::Permanent, error, None),
            Outcome::NoHandler { error } => fail(v1::FailureCause::NoHandler, error, None),
            // Signed when it is sent, because it is signed for a reign of the scheduler.
            Outcome::HandOff { receiver } => {
                report::Report::HandOff(v1::HandOff { receiver, ..Default::default() })
            }
            Outcome::Snooze { after } => {
                fail(v1::FailureCause::Returned, String::new(), Some(after))
            }
        }
    }
}

/// What a handler may return. An error is a failure that is retried.
pub trait IntoOutcome {
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for Bytes {
    fn into_outcome(self) -> Outcome {
        Outcome::Done(self)
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Done(Bytes::new())
    }
}

impl<T: IntoOutcome, E: Display> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::retry(format_args!("{error:#}")),
        }
    }
}
