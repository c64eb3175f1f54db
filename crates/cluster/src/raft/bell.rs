//! Wakes the one that waits for news.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clones are the same bell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bell(Arc<(Mutex<u64>, Condvar)>);

impl Bell {
    pub(crate) fn ring(&self) {
        let (rung, waiting) = &*self.0;
        *rung.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        waiting.notify_all();
    }

    /// How often it has rung. Whoever looks around after asking can wait for more without missing any.
    pub(crate) fn count(&self) -> u64 {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it has rung more often than that, or until then.
    pub(crate) fn wait(&self, count: u64, until: Instant) -> bool {
        let (rung, waiting) = &*self.0;
        let mut rung = rung.lock().unwrap_or_else(PoisonError::into_inner);
        while *rung == count {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            rung = waiting.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
