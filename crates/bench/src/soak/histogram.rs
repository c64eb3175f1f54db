//! Spans in bounded memory, counted by many at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Parts that each power of two is divided into: a quantile is at most this share too high.
const PARTS: u64 = 16;
const BUCKETS: usize = (64 * PARTS) as usize;

#[derive(Debug)]
pub(super) struct Histogram(Vec<AtomicU64>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram((0..BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Histogram {
    pub(super) fn record(&self, span: Duration) {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.0[bucket(micros)].fetch_add(1, Ordering::Relaxed);
    }

    /// Milliseconds that this share of what was recorded since the last call did not exceed; 0 of
    /// nothing.
    pub(super) fn take_quantile_ms(&self, share: f64) -> f64 {
        let counts: Vec<u64> =
            self.0.iter().map(|count| count.swap(0, Ordering::Relaxed)).collect();
        let rank = (counts.iter().sum::<u64>() as f64 * share).ceil() as u64;
        let mut below = 0;
        for (bucket, count) in counts.into_iter().enumerate() {
            below += count;
            if below >= rank && below > 0 {
                return upper_bound(bucket as u64) as f64 / 1e3;
            }
        }
        0.0
    }
}

fn bucket(micros: u64) -> usize {
    if micros < PARTS {
        return micros as usize;
    }
    let power = u64::from(micros.ilog2()) - u64::from(PARTS.ilog2());
    ((power + 1) * PARTS + ((micros >> power) - PARTS)) as usize
}

fn upper_bound(bucket: u64) -> u64 {
    if bucket < PARTS {
        return bucket;
    }
    let power = bucket / PARTS - 1;
    ((bucket % PARTS + PARTS + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_near_and_each_is_taken_once() {
        let histogram = Histogram::default();
        (1..=1_000).for_each(|millis| histogram.record(Duration::from_millis(millis)));
        let p99 = histogram.take_quantile_ms(0.99);
        assert!((990.0..=990.0 * 1.07).contains(&p99), "{p99}");
        assert_eq!(histogram.take_quantile_ms(0.99), 0.0);
    }

    #[test]
    fn every_span_is_within_its_bucket() {
        for micros in (0..100_000).chain([1 << 40, u64::MAX >> 8]) {
            let bound = upper_bound(bucket(micros) as u64);
            assert!(micros <= bound && bound <= micros + micros / PARTS, "{micros} {bound}");
        }
    }
}
