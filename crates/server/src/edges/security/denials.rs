//! Those who were not let in: counted, and told at a rate that fills no log.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bellwether_core::words;

/// Denials that are logged in one second; the rest are only counted.
const LOGGED_PER_SECOND: u64 = 10;

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
}

words!(
    Cause:
    NoToken => "no_token", UnknownToken => "unknown_token", Expired => "expired",
    Namespace => "namespace", Role => "role", Nobody => "nobody", Host => "host", Origin => "origin",
    Signature => "signature",
);

static COUNTS: [AtomicU64; Cause::ALL.len()] = [const { AtomicU64::new(0) }; Cause::ALL.len()];
/// The second that was last logged in, and how often: packed, so that they change together.
static LOGGED: AtomicU64 = AtomicU64::new(0);
const COUNT_BITS: u32 = 16;

/// `what` was asked by `who`, as far as that is known, from `peer`.
pub(crate) fn note(cause: Cause, what: &str, peer: &dyn Display, why: &dyn Display) {
    COUNTS[cause as usize].fetch_add(1, Ordering::Relaxed);
    if may_log(second()) {
        tracing::warn!(cause = cause.as_str(), what, %peer, %why, "not let in");
    }
}

/// How often each was the cause, in this process.
pub(crate) fn counts() -> impl Iterator<Item = (&'static str, u64)> {
    let causes = Cause::ALL.into_iter().zip(&COUNTS);
    causes.map(|(cause, count)| (cause.as_str(), count.load(Ordering::Relaxed)))
}

fn may_log(second: u64) -> bool {
    let count = |packed: u64| packed & ((1 << COUNT_BITS) - 1);
    let taken = LOGGED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
        if packed >> COUNT_BITS != second {
            return Some(second << COUNT_BITS | 1);
        }
        (count(packed) < LOGGED_PER_SECOND).then_some(packed + 1)
    });
    taken.is_ok()
}

fn second() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_denials_fills_no_log_and_is_counted() {
        let logged = (0..1_000).filter(|_| may_log(7)).count();
        assert_eq!(logged as u64, LOGGED_PER_SECOND);
        assert!(may_log(8));
        let before = counts().find(|(cause, _)| *cause == "role").unwrap().1;
        note(Cause::Role, "GET /", &"127.0.0.1", &"no role");
        assert!(counts().find(|(cause, _)| *cause == "role").unwrap().1 > before);
    }
}
