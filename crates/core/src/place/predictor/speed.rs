//! How fast worker classes are, compared with each other.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Comparisons after which a class's speed only moves slowly.
const SETTLED: u32 = 32;
/// Comparisons that a worker's own measurement counts as.
const CALIBRATION: u32 = 4;
/// A class that nothing is known of may be four times as fast as an average machine.
const UNSURE_PERCENT: u8 = 75;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowness {
    /// How many times longer than on an average machine.
    pub factor: f32,
    pub comparisons: u32,
}

/// Learned from types that ran on several classes, used for types that have not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Speeds {
    pub(super) classes: HashMap<u32, Slowness, FxBuildHasher>,
    /// Mean factor of where jobs really run, in `jobs` of them at most [`SETTLED`] back.
    pub(super) mean: f32,
    pub(super) jobs: u32,
}

impl Speeds {
    /// How many times longer jobs take on this class than on an average machine.
    pub(super) fn slowness(&self, class: u32) -> f32 {
        self.classes.get(&class).map_or(1.0, |slowness| slowness.factor)
    }

    /// The same on average over the workers that jobs ran on.
    pub(super) fn mean(&self) -> f32 {
        if self.jobs == 0 { 1.0 } else { self.mean }
    }

    /// How much faster than is known the class may be, in hundredths.
    pub(super) fn unsure_percent(&self, class: u32) -> u8 {
        let comparisons = self.entry(class).comparisons.min(100);
        UNSURE_PERCENT / (1 + comparisons as u8)
    }

    /// A worker of this class measured how slow it is, compared with a machine that all know.
    ///
    /// It counts as much as a few jobs, so that those override it.
    pub(super) fn calibrate(&mut self, class: u32, factor: f32) {
        let known = self.entry(class);
        if known.comparisons > CALIBRATION {
            return;
        }
        let factor = match known.comparisons {
            0 => factor,
            _ => known.factor + (factor - known.factor) / CALIBRATION as f32,
        };
        self.classes.insert(class, Slowness { factor, comparisons: CALIBRATION });
    }

    /// A job ran on this class.
    pub(super) fn ran_on(&mut self, class: u32) {
        self.jobs = (self.jobs + 1).min(SETTLED);
        self.mean += (self.slowness(class) - self.mean) / self.jobs as f32;
    }

    /// The same work took `ratio` times as long on `class` as on `other`.
    ///
    /// What the ratio is off by is shared between the two, the better known one moving less.
    /// Between settled classes one rises as the other falls, so noise can't inflate all factors.
    pub(super) fn compare(&mut self, class: u32, other: u32, ratio: f32) {
        let (a, b) = (self.entry(class), self.entry(other));
        let surprise = (ratio * b.factor / a.factor).clamp(0.25, 4.0);
        let (weight_a, weight_b) = (a.comparisons as f32 + 1.0, b.comparisons as f32 + 1.0);
        let rate = 1.0 / weight_a.min(weight_b);
        let share_a = weight_b / (weight_a + weight_b);
        self.adjust(class, surprise, rate * share_a);
        self.adjust(other, 1.0 / surprise, rate * (1.0 - share_a));
    }

    fn entry(&self, class: u32) -> Slowness {
        let new = Slowness { factor: 1.0, comparisons: 0 };
        self.classes.get(&class).copied().unwrap_or(new)
    }

    /// Moves the factor towards `surprise` times itself. Steps down are the inverse of steps up.
    fn adjust(&mut self, class: u32, surprise: f32, rate: f32) {
        let mut slowness = self.entry(class);
        slowness.factor *= if surprise > 1.0 {
            1.0 + rate * (surprise - 1.0)
        } else {
            1.0 / (1.0 + rate * (1.0 / surprise - 1.0))
        };
        slowness.factor = slowness.factor.clamp(1.0 / 256.0, 256.0);
        slowness.comparisons = (slowness.comparisons + 1).min(SETTLED);
        self.classes.insert(class, slowness);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_speeds_are_found_and_do_not_creep() {
        let mut speeds = Speeds::default();
        // Noise of a third up and down around ratios of 1, 2 and 4.
        for round in 0..20_000u32 {
            let noise = if round % 2 == 0 { 1.5 } else { 1.0 / 1.5 };
            let (a, b) = [(1, 2), (2, 3), (1, 3), (3, 1), (2, 1), (3, 2)][round as usize / 2 % 6];
            let truth = |class: u32| (1 << class) as f32;
            speeds.compare(a, b, noise * truth(a) / truth(b));
        }
        let ratio = speeds.slowness(3) / speeds.slowness(1);
        assert!((3.5..4.5).contains(&ratio), "{ratio}");
        let middle = speeds.slowness(2);
        assert!((0.5..2.0).contains(&middle), "{middle}");
    }
}
