//! How long to wait before the next try.

use std::time::Duration;

use crate::random::random;

/// Doubles from `first` to `most`. A random part of up to a half is taken off, so that clients who
/// lost the same scheduler do not all return at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { first: Duration::from_millis(50), most: Duration::from_secs(5) }
    }
}

impl Backoff {
    /// The pause after so many tries that failed, from 1.
    pub(crate) fn pause(self, failures: u32) -> Duration {
        self.jittered(failures, random())
    }

    fn jittered(self, failures: u32, random: u64) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let full = self.first.saturating_mul(1 << doublings).min(self.most);
        let off = (random % 1_000) as f64 / 2_000.0;
        full.mul_f64(1.0 - off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_limit_and_lose_at_most_half() {
        let backoff = Backoff::default();
        let full: Vec<u128> =
            [1, 2, 3, 7, 8, 1_000].map(|n| backoff.jittered(n, 0).as_millis()).into();
        assert_eq!(full, [50, 100, 200, 3_200, 5_000, 5_000]);
        let least = backoff.jittered(8, 999);
        assert!(least > backoff.most / 2 && least < backoff.most);
    }
}
