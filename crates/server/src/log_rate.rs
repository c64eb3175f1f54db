//! A rate that fills no log, for what others may cause as often as they like.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Lines of one kind in one second.
const LINES_PER_SECOND: u64 = 10;
const COUNT_BITS: u32 = 16;

/// The second that was last logged in, and how often: packed, so that they change together.
#[derive(Debug)]
pub(crate) struct LogRate(AtomicU64);

impl LogRate {
    pub(crate) const fn new() -> LogRate {
        LogRate(AtomicU64::new(0))
    }

    /// Whether one more line may be logged now.
    pub(crate) fn allows(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.allows_in(now.map_or(0, |since| since.as_secs()))
    }

    fn allows_in(&self, second: u64) -> bool {
        let count = |packed: u64| packed & ((1 << COUNT_BITS) - 1);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            if packed >> COUNT_BITS != second {
                return Some(second << COUNT_BITS | 1);
            }
            (count(packed) < LINES_PER_SECOND).then_some(packed + 1)
        });
        taken.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_fills_no_log() {
        let rate = LogRate::new();
        let logged = (0..1_000).filter(|_| rate.allows_in(7)).count();
        assert_eq!(logged as u64, LINES_PER_SECOND);
        assert!(rate.allows_in(8));
    }
}
