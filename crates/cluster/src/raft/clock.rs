//! The one place where members ask for the time.

use bellwether_core::model::Micros;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock that counts while the machine is suspended, as leases are counted.
pub(crate) fn now() -> Micros {
    let time = clock_gettime(ClockId::Boottime);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    Micros::from_secs(part(time.tv_sec)) + Micros(part(time.tv_nsec) / 1_000)
}
