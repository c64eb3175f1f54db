//! What became of each job of the flood, in a byte for each.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::histogram::Histogram;

const CHUNK: u64 = 1 << 20;
/// Jobs whose time of sending is remembered; more are never under way.
const UNDER_WAY_MAX: u64 = 1 << 21;

const ACKNOWLEDGED: u8 = 1;
const STARTED: u8 = 2;
const CONFIRMED: u8 = 4;

/// Ids that the scheduler makes end in a number; so many bits of it are kept, and above them which
/// beginning it has.
const COUNT_BITS: u32 = 48;

#[derive(Debug)]
pub(super) struct Ledger {
    base: Instant,
    /// Made when the first job of each is sent.
    chunks: Vec<OnceLock<Box<[AtomicU8]>>>,
    /// Microseconds since the base, by the lower digits of the number.
    sent: Box<[AtomicU64]>,
    sent_up_to: AtomicU64,
    /// What their ids are, by the lower digits of the number, too.
    ids: Box<[AtomicU64]>,
    /// How ids begin: one for each start of the scheduler. A lock, because all answers are taken by one
    /// task and only that and the finder look here.
    beginnings: Mutex<Vec<String>>,
    /// From when a job was to be sent until its handler started.
    pub(super) starts: Histogram,
    pub(super) acknowledged: AtomicU64,
    pub(super) confirmed: AtomicU64,
    /// Started once more, which at_least_once allows.
    pub(super) again: AtomicU64,
    pub(super) refused: AtomicU64,
    /// A lock, because the text is for people and rarely written.
    refusal: Mutex<Option<String>>,
}

impl Ledger {
    /// For so many jobs at the most.
    pub(super) fn new(jobs: u64) -> Ledger {
        Ledger {
            base: Instant::now(),
            chunks: (0..=jobs / CHUNK).map(|_| OnceLock::new()).collect(),
            sent: (0..UNDER_WAY_MAX).map(|_| AtomicU64::new(0)).collect(),
            sent_up_to: AtomicU64::new(0),
            ids: (0..UNDER_WAY_MAX).map(|_| AtomicU64::new(0)).collect(),
            beginnings: Mutex::default(),
            starts: Histogram::default(),
            acknowledged: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            again: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            refusal: Mutex::new(None),
        }
    }

    /// The id of a job that was acknowledged and is not long ended.
    pub(super) fn id(&self, number: u64) -> Option<String> {
        let packed = self.ids[(number % UNDER_WAY_MAX) as usize].load(Ordering::Relaxed);
        let beginnings = self.beginnings.lock().unwrap_or_else(PoisonError::into_inner);
        let beginning = beginnings.get((packed >> COUNT_BITS) as usize)?;
        Some(format!("{beginning}-{}", packed & ((1 << COUNT_BITS) - 1)))
    }

    fn keep_id(&self, number: u64, id: &str) {
        let Some((beginning, count)) = id.rsplit_once('-') else { return };
        let mut beginnings = self.beginnings.lock().unwrap_or_else(PoisonError::into_inner);
        let place = beginnings.iter().rposition(|known| known == beginning).unwrap_or_else(|| {
            beginnings.push(beginning.to_owned());
            beginnings.len() - 1
        });
        let packed = (place as u64) << COUNT_BITS | count.parse::<u64>().unwrap_or(0);
        self.ids[(number % UNDER_WAY_MAX) as usize].store(packed, Ordering::Relaxed);
    }

    pub(super) fn sent(&self, number: u64, due: Instant) {
        let micros = due.saturating_duration_since(self.base).as_micros() as u64;
        self.sent[(number % UNDER_WAY_MAX) as usize].store(micros, Ordering::Relaxed);
        self.sent_up_to.store(number + 1, Ordering::Relaxed);
    }

    pub(super) fn acknowledge(&self, number: u64, id: &str) {
        self.keep_id(number, id);
        self.mark(number, ACKNOWLEDGED, &self.acknowledged);
    }

    pub(super) fn refuse(&self, refusal: &impl ToString) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let mut last = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        last.get_or_insert_with(|| refusal.to_string());
    }

    /// Why the first was refused.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn start(&self, number: u64) {
        if self.flag(number).fetch_or(STARTED, Ordering::Relaxed) & STARTED != 0 {
            self.again.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let sent = self.sent[(number % UNDER_WAY_MAX) as usize].load(Ordering::Relaxed);
        let took = self.base.elapsed().saturating_sub(Duration::from_micros(sent));
        self.starts.record(took);
    }

    pub(super) fn confirm(&self, number: u64) {
        self.mark(number, CONFIRMED, &self.confirmed);
    }

    /// All that were sent are below.
    pub(super) fn sent_up_to(&self) -> u64 {
        self.sent_up_to.load(Ordering::Relaxed)
    }

    /// Acknowledged, and nobody was told of their end.
    pub(super) fn open(&self, numbers: Range<u64>) -> impl Iterator<Item = u64> {
        numbers.filter(|number| {
            let flag = self.flag(*number).load(Ordering::Relaxed);
            flag & ACKNOWLEDGED != 0 && flag & CONFIRMED == 0
        })
    }

    fn mark(&self, number: u64, mark: u8, count: &AtomicU64) {
        if self.flag(number).fetch_or(mark, Ordering::Relaxed) & mark == 0 {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flag(&self, number: u64) -> &AtomicU8 {
        let chunk = &self.chunks[(number / CHUNK) as usize];
        let made = chunk.get_or_init(|| (0..CHUNK).map(|_| AtomicU8::new(0)).collect());
        &made[(number % CHUNK) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_is_open_until_its_result_is_confirmed() {
        let ledger = Ledger::new(2 * CHUNK);
        let last = CHUNK + 7;
        for number in [3, last] {
            ledger.acknowledge(number, &format!("job-1-0abc-{}", number + 5));
        }
        ledger.acknowledge(4, "job-2-0def-0");
        ledger.confirm(4);
        let ids = [3, 4, last].map(|number| ledger.id(number).unwrap());
        assert_eq!(ids, ["job-1-0abc-8", "job-2-0def-0", &format!("job-1-0abc-{}", last + 5)]);
        assert_eq!(ledger.open(0..2 * CHUNK).collect::<Vec<_>>(), [3, last]);
        ledger.start(3);
        ledger.start(3);
        ledger.confirm(3);
        ledger.confirm(3);
        assert_eq!(ledger.open(0..2 * CHUNK).collect::<Vec<_>>(), [last]);
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        assert_eq!((read(&ledger.again), read(&ledger.confirmed)), (1, 2));
    }
}
