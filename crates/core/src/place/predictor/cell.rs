//! What is remembered under one key.

use crate::model::Timestamp;

/// Clusters that a cell tells apart.
const CLUSTERS: usize = 4;
/// The weight of a duration, compared with the one that came after it.
const DECAY: f32 = 0.75;
/// A duration this near to a cluster needs none of its own.
const COVERED: f32 = 0.6;
/// Jobs that the error looks back over.
const ERROR_JOBS: u32 = 8;
/// Taken for the error of a single sample, which says nothing of it yet.
const ERROR_UNKNOWN: f32 = 0.5;

/// The durations under a key as a few clusters, and as one estimate the centre of the heaviest,
/// later durations weighing more.
///
/// Real durations often have several modes (a cached and an uncached case, a failing one) and an
/// average lies between them, where no job ever is. An outlier does not move the estimate, and a
/// lasting change does after three jobs.
///
/// What counts as later is when a job started, not when it finished: of many started together the
/// longest finish last, and would otherwise be taken for what such jobs take now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Durations {
    pub samples: u32,
    /// When the latest of them started.
    pub latest: Timestamp,
    pub estimate: f32,
    /// A moving average of how wrong the estimate was, see `error`.
    pub error: f32,
    pub centres: [f32; CLUSTERS],
    /// Zero where there is no cluster yet.
    pub weights: [f32; CLUSTERS],
}

/// What a history says of the next job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Belief {
    pub(super) estimate: f32,
    /// From 0 to 1: 0.25 if the estimate is usually a quarter off.
    pub(super) error: f32,
    pub(super) samples: u32,
}

impl Durations {
    pub(super) fn new(actual: f32, started: Timestamp) -> Durations {
        let (mut centres, mut weights) = ([0.0; CLUSTERS], [0.0; CLUSTERS]);
        centres[0] = actual;
        weights[0] = 1.0;
        Durations {
            samples: 1,
            latest: started,
            estimate: actual,
            error: ERROR_UNKNOWN,
            centres,
            weights,
        }
    }

    pub(super) fn observe(&mut self, actual: f32, started: Timestamp) {
        self.samples = self.samples.saturating_add(1);
        let miss = error(self.estimate, actual).min(1.0);
        self.error += (miss - self.error) / self.samples.min(ERROR_JOBS) as f32;

        let decay = if started > self.latest { DECAY } else { 1.0 };
        self.latest = self.latest.max(started);
        let mut nearest = 0.0_f32;
        for (centre, weight) in self.centres.iter_mut().zip(&mut self.weights) {
            let nearness = nearness(*centre, actual);
            *weight = *weight * decay + nearness;
            // Without weight there is no cluster to move.
            *centre += (actual - *centre) * nearness / weight.max(f32::MIN_POSITIVE);
            nearest = nearest.max(nearness);
        }
        if nearest < COVERED {
            let lightest = index_of(&self.weights, |weight, than| weight < than);
            self.centres[lightest] = actual;
            self.weights[lightest] = 1.0;
        }
        self.estimate = self.centres[index_of(&self.weights, |weight, than| weight > than)];
    }

    pub(super) fn belief(&self) -> Belief {
        Belief { estimate: self.estimate, error: self.error, samples: self.samples }
    }
}

impl Belief {
    /// Grows with the samples (half at 2) and falls with the error (half at 50%).
    pub(super) fn confidence_percent(&self) -> u8 {
        let samples = self.samples as f32;
        (100.0 * samples / (samples + 2.0) / (1.0 + 2.0 * self.error)) as u8
    }
}

/// How far apart two durations are: 0.25 if one is a quarter longer than the other. The same in
/// both directions, so that estimates far too low weigh as much as those far too high.
pub(super) fn error(estimate: f32, actual: f32) -> f32 {
    estimate.max(actual) / estimate.min(actual) - 1.0
}

/// From 1 for equal durations to 0 where one is twice the other or more.
fn nearness(a: f32, b: f32) -> f32 {
    (2.0 * a.min(b) / a.max(b) - 1.0).max(0.0)
}

/// The position of the weight that beats all before it, and is beaten by none after.
fn index_of(weights: &[f32; CLUSTERS], beats: impl Fn(f32, f32) -> bool) -> usize {
    let mut best = 0;
    for at in 1..CLUSTERS {
        if beats(weights[at], weights[best]) {
            best = at;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(durations: &[f32]) -> Durations {
        let mut cell = Durations::new(durations[0], Timestamp(0));
        for (started, duration) in (1..).zip(&durations[1..]) {
            cell.observe(*duration, Timestamp(started));
        }
        cell
    }

    #[test]
    fn an_outlier_does_not_move_the_estimate() {
        assert_eq!(cell(&[10.0, 10.0, 10.0, 1000.0]).belief().estimate, 10.0);
    }

    #[test]
    fn a_lasting_change_is_followed_within_three_jobs() {
        let mut durations = [10.0; 23];
        durations[20..].fill(30.0);
        assert_eq!(cell(&durations).belief().estimate, 30.0);
    }

    #[test]
    fn of_jobs_started_together_the_last_to_finish_do_not_count_more() {
        let mut cell = Durations::new(10.0, Timestamp(7));
        for actual in [10.0, 10.0, 10.0, 50.0, 90.0, 90.0, 90.0] {
            cell.observe(actual, Timestamp(7));
        }
        assert_eq!(cell.belief().estimate, 10.0);
    }

    #[test]
    fn of_two_modes_the_more_frequent_one_is_the_estimate_not_their_mean() {
        let estimate = cell(&[10.0, 90.0, 10.5, 9.5, 90.0, 10.0, 10.0]).belief().estimate;
        assert!((9.5..10.5).contains(&estimate), "{estimate}");
    }

    #[test]
    fn confidence_grows_with_samples_and_falls_with_error() {
        let confidence = |cell: Durations| cell.belief().confidence_percent();
        let steady = confidence(cell(&[10.0; 20]));
        let erratic = confidence(cell(&[10.0, 90.0, 10.0, 90.0, 10.0, 90.0, 10.0, 90.0]));
        assert!(steady > 80, "{steady}");
        assert!(erratic < 40, "{erratic}");
        assert!(confidence(cell(&[10.0; 2])) < steady);
    }
}
