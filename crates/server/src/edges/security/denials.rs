//! Those who were not let in: counted, and told at a rate that fills no log.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::words;

use crate::log_rate::LogRate;

/// Why somebody was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    NoToken,
    UnknownToken,
    Expired,
    Namespace,
    Role,
    Nobody,
    Host,
    Origin,
    /// What a worker says over a queue is not signed, or by somebody else.
    Signature,
    /// There is no place for one more connection.
    Places,
}

words!(
    Cause:
    NoToken => "no_token", UnknownToken => "unknown_token", Expired => "expired",
    Namespace => "namespace", Role => "role", Nobody => "nobody", Host => "host", Origin => "origin",
    Signature => "signature", Places => "places",
);

static COUNTS: [AtomicU64; Cause::ALL.len()] = [const { AtomicU64::new(0) }; Cause::ALL.len()];
/// What is not logged is counted all the same.
static LOGGED: LogRate = LogRate::new();

/// `what` was asked by `who`, as far as that is known, from `peer`.
pub(crate) fn note(cause: Cause, what: &str, peer: &dyn Display, why: &dyn Display) {
    COUNTS[cause as usize].fetch_add(1, Ordering::Relaxed);
    if LOGGED.allows() {
        tracing::warn!(cause = cause.as_str(), what, %peer, %why, "not let in");
    }
}

/// How often each was the cause, in this process.
pub(crate) fn counts() -> impl Iterator<Item = (&'static str, u64)> {
    let causes = Cause::ALL.into_iter().zip(&COUNTS);
    causes.map(|(cause, count)| (cause.as_str(), count.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_are_counted() {
        let before = counts().find(|(cause, _)| *cause == "role").unwrap().1;
        note(Cause::Role, "GET /", &"127.0.0.1", &"no role");
        assert!(counts().find(|(cause, _)| *cause == "role").unwrap().1 > before);
    }
}
