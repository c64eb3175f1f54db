//! The one place where the server asks for the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bellwether_core::model::Timestamp;

/// A clock before 1970 counts as 1970: the core only needs time that does not go back.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// How long from `now` until `then`; nothing if it has passed.
pub(crate) fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::from_micros(then.since(now).0)
}
