//! The one place where schedulers among others ask for the time: the clock that leases are counted by.
//! It never goes back, and goes on while the machine is suspended.

use std::time::Duration;

use bellwether_core::model::Micros;
use rustix::time::{ClockId, clock_gettime};

pub(crate) fn now() -> Micros {
    let boot = clock_gettime(ClockId::Boottime);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    Micros::from_secs(part(boot.tv_sec)) + Micros(part(boot.tv_nsec) / 1_000)
}

pub(crate) fn micros(time: Duration) -> Micros {
    Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
