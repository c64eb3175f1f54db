//! The one place where the server asks for the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bellwether_core::model::{Micros, Timestamp, WallAhead};
use bellwether_host::Reading;
use rustix::time::{ClockId, clock_gettime};

/// How far the wall clock is ahead of the scheduler's time, for all who show moments to people.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wall(Arc<AtomicI64>);

impl Wall {
    pub(crate) fn ahead(&self) -> WallAhead {
        WallAhead(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn tell(&self, ahead: WallAhead) {
        self.0.store(ahead.0, Ordering::Relaxed);
    }
}

/// Both clocks. The monotonic one goes on while the machine is suspended: a delay of an hour is an
/// hour, and the host takes a suspension for the absence that it is.
pub(crate) fn read() -> Reading {
    let boot = clock_gettime(ClockId::Boottime);
    let micros = |part: i64| u64::try_from(part).unwrap_or(0);
    let monotonic = Micros::from_secs(micros(boot.tv_sec)) + Micros(micros(boot.tv_nsec) / 1_000);
    Reading { monotonic, wall: wall() }
}

/// What people call the time. A clock before 1970 counts as 1970.
pub(crate) fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// How long from `now` until `then`; nothing if it has passed.
pub(crate) fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::from_micros(then.since(now).0)
}
