//! What happened within one second or minute.

use bellwether_core::model::JobStatus;
use bellwether_core::{AttemptEnd, Event};

use crate::projections::telemetry::sighting::Sighting;

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(super) submitted: u32,
    pub(super) started: u32,
    pub(super) completed: u32,
    /// Failed for good, or dead-lettered.
    pub(super) failed: u32,
    /// Cancelled or skipped.
    pub(super) dropped: u32,
    pub(super) retried: u32,
    pub(super) hedged: u32,
    pub(super) drifts: u32,
    /// Predictions that were tested, and those within a quarter of what it took.
    pub(super) predictions: u32,
    pub(super) near: u32,
    /// From when a job could be placed until a worker was chosen.
    pub(super) wait: Spans,
    /// From submission to end.
    pub(super) whole: Spans,
}

impl Tally {
    pub(crate) fn see(&mut self, sighting: &Sighting<'_>) {
        match sighting {
            Sighting::Submitted { .. } => self.submitted += 1,
            Sighting::Decided { job, offer, .. } => {
                self.hedged += u32::from(offer.hedge);
                if !offer.hedge {
                    self.wait.add(offer.offered_at.since(job.queued_at).0);
                }
            }
            Sighting::Started { .. } => self.started += 1,
            Sighting::OfferEnded { offer, end: AttemptEnd::Completed { .. }, at, .. } => {
                let actual = at.since(offer.started_at.unwrap_or(offer.offered_at)).0.max(1);
                self.predictions += 1;
                self.near += u32::from(offer.predicted.0.abs_diff(actual) <= actual / 4);
            }
            Sighting::OfferEnded { .. } => {}
            Sighting::Ended { job, how, at } => {
                self.whole.add(at.since(job.submitted_at).0);
                match how {
                    JobStatus::Completed => self.completed += 1,
                    JobStatus::Failed | JobStatus::DeadLettered => self.failed += 1,
                    _ => self.dropped += 1,
                }
            }
            Sighting::Other { event, .. } => match event {
                Event::Retried { .. } => self.retried += 1,
                Event::DriftDetected { .. } => self.drifts += 1,
                _ => {}
            },
        }
    }

    /// Both together.
    pub(super) fn join(&mut self, other: &Tally) {
        self.submitted += other.submitted;
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.retried += other.retried;
        self.hedged += other.hedged;
        self.drifts += other.drifts;
        self.predictions += other.predictions;
        self.near += other.near;
        self.wait.join(&other.wait);
        self.whole.join(&other.whole);
    }
}

/// Two for each doubling, from the first up to about twenty minutes.
const SPANS: usize = 48;
const FIRST_MICROS: u64 = 64;

/// How often spans of which length occurred.
#[derive(Debug, Clone)]
pub(super) struct Spans([u32; SPANS]);

impl Default for Spans {
    fn default() -> Spans {
        Spans([0; SPANS])
    }
}

impl Spans {
    fn add(&mut self, micros: u64) {
        self.0[place(micros)] += 1;
    }

    fn join(&mut self, other: &Spans) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }

    /// In seconds; none if nothing occurred.
    pub(super) fn quantile(&self, share: f64) -> Option<f32> {
        let total: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        if total == 0 {
            return None;
        }
        let wanted = (total as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.0.iter().enumerate() {
            let before = seen;
            seen += u64::from(*count);
            if seen >= wanted {
                let (low, high) = (lower(index), lower(index + 1));
                let within = (wanted - before) as f64 / f64::from(*count);
                return Some(((low + (high - low) * within) / 1e6) as f32);
            }
        }
        None
    }
}

fn place(micros: u64) -> usize {
    let ratio = (micros / FIRST_MICROS).max(1);
    let doublings = ratio.ilog2();
    // Whether it is past the middle of its doubling, which is at the root of two.
    let past = u128::from(ratio).pow(2) >= 1u128 << (2 * doublings + 1);
    (2 * doublings as usize + usize::from(past)).min(SPANS - 1)
}

fn lower(index: usize) -> f64 {
    if index == 0 { 0.0 } else { FIRST_MICROS as f64 * 2f64.powf(index as f64 / 2.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_near_what_occurred() {
        let mut spans = Spans::default();
        assert_eq!(spans.quantile(0.5), None);
        (1..=1_000).for_each(|millis| spans.add(millis * 1_000));
        for (share, wanted) in [(0.5, 0.5), (0.99, 0.99)] {
            let told = spans.quantile(share).unwrap();
            assert!((told - wanted).abs() < wanted * 0.25, "{told} for {wanted}");
        }
    }

    #[test]
    fn no_span_is_too_long_or_too_short() {
        let mut spans = Spans::default();
        spans.add(0);
        spans.add(u64::MAX);
        assert!(spans.quantile(1.0).unwrap() > 600.0);
    }
}
