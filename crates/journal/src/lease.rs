//! Until when a reign may be relied on without asking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Micros;

/// The moment, on the monotonic clock that counts while the machine is suspended, until which no other
/// scheduler can have taken over. Whoever keeps the reign alive extends it; whoever answers from
/// memory looks at it first. Clones share it.
#[derive(Debug, Clone)]
pub struct Lease(Arc<AtomicU64>);

/// The end of one that was ended.
const OVER: u64 = 0;

impl Lease {
    /// Of a journal that nobody else can take while this process has it.
    pub fn forever() -> Lease {
        Lease(Arc::new(AtomicU64::new(u64::MAX)))
    }

    pub fn until(at: Micros) -> Lease {
        Lease(Arc::new(AtomicU64::new(at.0)))
    }

    /// It never becomes shorter by this, and stays over if it was ended: a renewal may come too late.
    pub fn extend(&self, until: Micros) {
        let longer = |ends: u64| (ends != OVER).then_some(ends.max(until.0));
        let _was_over = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, longer).is_err();
    }

    /// It is over, whatever was said before.
    pub fn end(&self) {
        self.0.store(OVER, Ordering::Release);
    }

    pub fn is_forever(&self) -> bool {
        self.0.load(Ordering::Relaxed) == u64::MAX
    }

    /// Whether it was ended.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    pub fn holds_at(&self, now: Micros) -> bool {
        now.0 < self.0.load(Ordering::Acquire)
    }

    pub fn ends_at(&self) -> Micros {
        Micros(self.0.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewal_that_comes_too_late_revives_nothing() {
        let lease = Lease::until(Micros(100));
        lease.extend(Micros(200));
        lease.extend(Micros(150));
        assert!(lease.holds_at(Micros(199)) && !lease.holds_at(Micros(200)));
        lease.end();
        lease.extend(Micros(300));
        assert!(!lease.holds_at(Micros(1)));
    }
}
