//! When each job was sent and started, and how many have ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Longer than this without any job that ends, and something is wrong.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// One phase of a measurement: its jobs are called `<name>-<number>`.
#[derive(Debug)]
pub(super) struct Tally {
    name: &'static str,
    base: Instant,
    /// Nanoseconds since the base; 0 is not yet.
    sent: Vec<AtomicU64>,
    started: Vec<AtomicU64>,
    confirmed: AtomicU64,
    changed: Notify,
}

impl Tally {
    pub(super) fn new(name: &'static str, jobs: u64) -> Tally {
        let zeros = || (0..jobs).map(|_| AtomicU64::new(0)).collect();
        Tally {
            name,
            base: Instant::now(),
            sent: zeros(),
            started: zeros(),
            confirmed: AtomicU64::new(0),
            changed: Notify::new(),
        }
    }

    pub(super) fn jobs(&self) -> u64 {
        self.sent.len() as u64
    }

    pub(super) fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.name)
    }

    /// What the ids of all its jobs begin with.
    pub(super) fn prefix(&self) -> String {
        format!("{}-", self.name)
    }

    fn number(&self, id: &str) -> Option<usize> {
        id.strip_prefix(self.name)?.strip_prefix('-')?.parse().ok()
    }

    pub(super) fn sent(&self, number: u64, at: Instant) {
        let nanos = at.saturating_duration_since(self.base).as_nanos() as u64;
        self.sent[number as usize].store(nanos.max(1), Ordering::Relaxed);
    }

    pub(super) fn started(&self, id: &str) {
        let Some(started) = self.number(id).and_then(|number| self.started.get(number)) else {
            return;
        };
        let now = self.base.elapsed().as_nanos() as u64;
        // Of two runs the first counts.
        if started.load(Ordering::Relaxed) == 0 {
            started.store(now, Ordering::Relaxed);
        }
    }

    pub(super) fn confirmed(&self, id: &str) {
        if self.number(id).is_some() {
            self.confirmed.fetch_add(1, Ordering::Relaxed);
            self.changed.notify_waiters();
        }
    }

    pub(super) async fn all_confirmed(&self) -> anyhow::Result<()> {
        loop {
            let changed = self.changed.notified();
            let confirmed = self.confirmed.load(Ordering::Relaxed);
            if confirmed >= self.jobs() {
                return Ok(());
            }
            let stuck = tokio::time::timeout(STUCK_AFTER, changed).await.is_err();
            anyhow::ensure!(!stuck, "only {confirmed} of {} jobs ended", self.jobs());
        }
    }

    /// Milliseconds from sent to started, of 99 in a hundred jobs at most.
    pub(super) fn start_p99_ms(&self) -> f64 {
        let read = |time: &AtomicU64| time.load(Ordering::Relaxed);
        let mut spans: Vec<u64> = self
            .sent
            .iter()
            .zip(&self.started)
            .map(|(sent, started)| read(started).saturating_sub(read(sent)))
            .collect();
        spans.sort_unstable();
        let rank = (spans.len() as f64 * 0.99).ceil() as usize;
        spans.get(rank.saturating_sub(1)).copied().unwrap_or(0) as f64 / 1e6
    }
}
