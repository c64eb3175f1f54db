//! Until when a reign may be relied on without asking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::model::Micros;

/// The moment, on the monotonic clock that counts while the machine is suspended, until which no other
/// scheduler can have taken over. Whoever keeps the reign alive extends it; whoever answers from
/// memory looks at it first. Clones share it.
#[derive(Debug, Clone)]
pub struct Lease(Arc<AtomicU64>);

impl Lease {
    /// Of a journal that nobody else can take while this process has it.
    pub fn forever() -> Lease {
        Lease(Arc::new(AtomicU64::new(u64::MAX)))
    }

    pub fn until(at: Micros) -> Lease {
        Lease(Arc::new(AtomicU64::new(at.0)))
    }

    /// It never becomes shorter by this.
    pub fn extend(&self, until: Micros) {
        self.0.fetch_max(until.0, Ordering::AcqRel);
    }

    /// It is over, whatever was said before.
    pub fn end(&self) {
        self.0.store(0, Ordering::Release);
    }

    pub fn holds_at(&self, now: Micros) -> bool {
        now.0 < self.0.load(Ordering::Acquire)
    }

    pub fn ends_at(&self) -> Micros {
        Micros(self.0.load(Ordering::Acquire))
    }
}
