//! How long to wait before somebody who did not answer is tried again.

use std::time::Duration;

/// Pauses that double up to a bound, and start over after a success.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

/// For a server nearby.
impl Default for Backoff {
    fn default() -> Backoff {
        Backoff::new(Duration::from_millis(20), Duration::from_secs(2))
    }
}

impl Backoff {
    pub const fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { first, longest, failures: 0 }
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The pause that is due after one more failure.
    pub fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.after(self.failures)
    }

    /// The pause after so many failures in a row, from 1.
    pub fn after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }

    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.failed()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_start_over() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u128> = (0..9).map(|_| backoff.failed().as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000]);
        backoff.succeeded();
        assert_eq!(backoff.failed().as_millis(), 20);
    }
}
