//! What is remembered under one key.

use serde::{Deserialize, Serialize};

/// Durations that a cell remembers.
const RECENT: usize = 5;

/// The last durations under a key, as one estimate: their median, which a single outlier does not
/// move and which follows a lasting change within three jobs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    samples: u32,
    estimate: f32,
    /// A moving average of how wrong the estimate was, see [`error`].
    error: f32,
    recent: [f32; RECENT],
}

/// Beyond this, a wrong estimate is just wrong: one outlier must not dominate an average.
pub(super) const ERROR_MAX: f32 = 2.0;

/// How far apart two durations are: 0.25 if one is a quarter longer than the other. The same in
/// both directions, so that estimates far too low weigh as much as those far too high.
pub(super) fn error(estimate: f32, actual: f32) -> f32 {
    let ratio = if estimate > actual { estimate / actual } else { actual / estimate };
    (ratio - 1.0).min(ERROR_MAX)
}

impl Cell {
    pub(super) fn new(actual: f32) -> Cell {
        // One sample says nothing of its error; that of a bad prediction keeps confidence low.
        Cell { samples: 1, estimate: actual, error: 0.5, recent: [actual; RECENT] }
    }

    pub(super) fn observe(&mut self, actual: f32) {
        let miss = error(self.estimate, actual);
        self.samples = self.samples.saturating_add(1);
        let weight = self.samples.min(8) as f32;
        self.error += (miss - self.error) / weight;
        self.recent[(self.samples as usize - 1) % RECENT] = actual;
        self.estimate = median(self.recent, RECENT.min(self.samples as usize));
    }

    pub(super) fn estimate(&self) -> f32 {
        self.estimate
    }

    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    pub(super) fn confidence_percent(&self) -> u8 {
        confidence_percent(self.samples, self.error)
    }
}

/// Grows with the samples (half at 2) and falls with the error (half at 50%).
pub(super) fn confidence_percent(samples: u32, error: f32) -> u8 {
    let samples = samples as f32;
    (100.0 * samples / (samples + 2.0) / (1.0 + 2.0 * error)) as u8
}

/// Of the first `count` values; of an even number the mean of the two in the middle.
fn median(mut values: [f32; RECENT], count: usize) -> f32 {
    for end in 1..count {
        let mut at = end;
        while at > 0 && values[at - 1] > values[at] {
            values.swap(at - 1, at);
            at -= 1;
        }
    }
    if count % 2 == 1 {
        values[count / 2]
    } else {
        (values[count / 2 - 1] + values[count / 2]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(durations: &[f32]) -> Cell {
        let mut cell = Cell::new(durations[0]);
        for duration in &durations[1..] {
            cell.observe(*duration);
        }
        cell
    }

    #[test]
    fn an_outlier_does_not_move_the_estimate() {
        assert_eq!(cell(&[10.0, 10.0, 10.0, 1000.0]).estimate(), 10.0);
    }

    #[test]
    fn a_lasting_change_is_followed_within_three_jobs() {
        assert_eq!(cell(&[10.0, 10.0, 10.0, 10.0, 10.0, 30.0, 30.0, 30.0]).estimate(), 30.0);
    }

    #[test]
    fn confidence_grows_with_samples_and_falls_with_error() {
        let steady = cell(&[10.0; 20]).confidence_percent();
        let erratic = cell(&[10.0, 90.0, 10.0, 90.0, 10.0, 90.0, 10.0, 90.0]).confidence_percent();
        assert!(steady > 80, "{steady}");
        assert!(erratic < 40, "{erratic}");
        assert!(cell(&[10.0; 2]).confidence_percent() < steady);
    }
}
