//! How good the predictions of a type are, and whether they are getting worse.

use super::cell::error;
use crate::model::Micros;

/// Jobs of a type before its usual error is known.
const USUAL_AFTER: u32 = 16;
/// Jobs that the usual error looks back over.
const USUAL: u32 = 64;
/// Jobs that the recent error looks back over.
const RECENT: u32 = 4;

/// Beyond this, a wrong prediction is just wrong: one outlier must not look like a drift.
const ERROR_MAX: f32 = 2.0;

/// Predictions of a type have become worse than they usually are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift {
    pub kind: u32,
    pub error_percent: u32,
    pub usual_percent: u32,
}

/// The predictions that jobs of one type were placed by, compared with what they took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Accuracy {
    pub samples: u32,
    /// Off by at most a quarter of the actual duration.
    pub near: u32,
    pub recent: f32,
    pub usual: f32,
    pub drifting: bool,
}

impl Accuracy {
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// The share of predictions within 25% of the actual duration, in thousandths.
    pub fn within_25_permille(&self) -> u32 {
        (u64::from(self.near) * 1_000 / u64::from(self.samples.max(1))) as u32
    }

    /// How far off the last few predictions were: 100 is a factor of two in either direction.
    pub fn recent_error_percent(&self) -> u32 {
        percent(self.recent)
    }

    /// The same over many jobs.
    pub fn usual_error_percent(&self) -> u32 {
        percent(self.usual)
    }

    /// The recent predictions are clearly worse than the usual ones.
    pub fn is_drifting(&self) -> bool {
        self.drifting
    }

    /// Compares a prediction with the truth; true if the type has begun to drift: the recent
    /// error is `drift_percent` points above the usual one. Said once, until it has recovered or
    /// the usual error has caught up.
    pub(super) fn observe(
        &mut self,
        predicted: Micros,
        actual: Micros,
        drift_percent: u32,
    ) -> bool {
        if self.samples == u32::MAX {
            // Keep the share while making room to count on.
            self.samples /= 2;
            self.near /= 2;
        }
        self.samples += 1;
        self.near += u32::from(predicted.0.abs_diff(actual.0) <= actual.0 / 4);
        let miss = error(predicted.0.max(1) as f32, actual.0.max(1) as f32).min(ERROR_MAX);
        self.recent += (miss - self.recent) / self.samples.min(RECENT) as f32;
        self.usual += (miss - self.usual) / self.samples.min(USUAL) as f32;

        let excess = self.recent - self.usual;
        let threshold = drift_percent as f32 / 100.0;
        if self.drifting {
            self.drifting = excess > threshold / 2.0;
            return false;
        }
        self.drifting = self.samples > USUAL_AFTER && excess > threshold;
        self.drifting
    }

    pub(super) fn drift(&self, kind: u32) -> Drift {
        Drift { kind, error_percent: percent(self.recent), usual_percent: percent(self.usual) }
    }
}

fn percent(error: f32) -> u32 {
    (error * 100.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drifts(durations: impl Iterator<Item = u64>) -> usize {
        let mut accuracy = Accuracy::default();
        durations.filter(|ms| accuracy.observe(Micros(1_000), Micros(*ms), 50)).count()
    }

    #[test]
    fn a_lasting_change_is_reported_once() {
        assert_eq!(drifts((0..200).map(|n| if n < 100 { 1_000 } else { 3_000 })), 1);
        assert_eq!(drifts((0..200).map(|n| if n < 100 { 1_000 } else { 300 })), 1);
    }

    #[test]
    fn noise_and_single_outliers_are_not_drift() {
        assert_eq!(drifts((0..1_000).map(|n| 600 + n * 7_919 % 900)), 0);
        assert_eq!(drifts((0..1_000).map(|n| if n % 50 == 49 { 90_000 } else { 1_000 })), 0);
    }
}
