//! How fast a worker is among those of its class.
//!
//! Workers of one class are taken to be equally fast until they prove otherwise: one that throttles,
//! shares its machine or was given a better one keeps its class and gets a pace of its own. It moves
//! by a sixteenth of what each job shows, and a single job shows at most a factor of two, so an
//! outlier changes nothing and a machine that has become ten times slower is known for it after seven
//! jobs.

use crate::model::Micros;

/// The share of a job's surprise that the pace follows.
const RATE: f32 = 1.0 / 16.0;
/// What one job may show at the most.
const SURPRISE_MAX: f32 = 2.0;
/// Within this factor a worker is as fast as its class.
const USUAL_PERMILLE: u64 = 1_500;
/// Paces are told apart up to this many octaves.
const OCTAVES_MAX: i8 = 10;

/// How much longer than others of its class it takes for the same, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pace(u32);

/// The same in whole octaves: 1 takes twice as long, -1 half as long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(i8);

impl Default for Pace {
    fn default() -> Pace {
        Pace(1_000)
    }
}

impl Pace {
    /// Of one that measured this speed, where others of its class measure `usual`.
    pub(crate) fn of(usual: u64, own: u32) -> Pace {
        Pace::from_permille((usual * 1_000 / u64::from(own.max(1))).min(u64::from(u32::MAX)) as u32)
    }

    /// 0 is as long as the others.
    pub fn from_permille(permille: u32) -> Pace {
        let most = 1_000 << OCTAVES_MAX;
        if permille == 0 { Pace::default() } else { Pace(permille.clamp(1, most)) }
    }

    /// 0 is as long as the others.
    pub fn unusual_permille(self) -> u32 {
        if self == Pace::default() { 0 } else { self.0 }
    }

    /// A job took so many times as long as its class takes for such jobs.
    #[must_use]
    pub(crate) fn after(self, ratio: f32) -> Pace {
        let pace = self.0 as f32;
        let surprise = (ratio * 1_000.0 / pace).clamp(1.0 / SURPRISE_MAX, SURPRISE_MAX);
        // Steps down are the inverse of steps up.
        let step = if surprise > 1.0 {
            1.0 + RATE * (surprise - 1.0)
        } else {
            1.0 / (1.0 + RATE * (1.0 / surprise - 1.0))
        };
        Pace::from_permille(((pace * step + 0.5) as u32).max(1))
    }

    pub fn level(self) -> Level {
        let mut level = 0;
        let mut pace = u64::from(self.0);
        while pace >= USUAL_PERMILLE && level < OCTAVES_MAX {
            pace /= 2;
            level += 1;
        }
        while pace * USUAL_PERMILLE <= 1_000_000 && level > -OCTAVES_MAX {
            pace *= 2;
            level -= 1;
        }
        Level(level)
    }
}

impl Level {
    /// What a job takes at this pace that takes `span` at the usual one.
    pub(crate) fn times(self, span: Micros) -> Micros {
        match u32::try_from(self.0) {
            Ok(octaves) => span.times(1 << octaves),
            Err(_) => Micros((span.0 >> self.0.unsigned_abs()).max(1)),
        }
    }

    /// What would have taken as long as this at the usual pace.
    pub(crate) fn usual(self, span: Micros) -> Micros {
        Level(-self.0).times(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(jobs: usize, ratio: f32) -> Pace {
        (0..jobs).fold(Pace::default(), |pace, _| pace.after(ratio))
    }

    #[test]
    fn a_machine_ten_times_slower_is_known_after_seven_jobs_and_more_within_twenty() {
        assert_eq!(after(6, 10.0).level(), Level(0));
        assert_eq!(after(7, 10.0).level(), Level(1));
        assert_eq!(after(20, 10.0).level(), Level(2));
        assert_eq!(after(20, 10.0).level().times(Micros(100)), Micros(400));
    }

    #[test]
    fn one_four_times_faster_is_preferred_after_seven_jobs_and_known_in_full_after_forty() {
        assert_eq!(after(7, 0.25).level(), Level(-1));
        assert_eq!(after(40, 0.25).level(), Level(-2));
        assert_eq!(after(40, 0.25).level().times(Micros(100)), Micros(25));
        assert_eq!(after(40, 0.25).level().usual(Micros(25)), Micros(100));
    }

    #[test]
    fn outliers_and_noise_change_nothing() {
        assert_eq!(after(1, 1_000.0).level(), Level(0));
        let mut pace = Pace::default();
        for round in 0..1_000 {
            pace = pace.after(if round % 2 == 0 { 1.5 } else { 1.0 / 1.5 });
            assert_eq!(pace.level(), Level(0), "{round}");
        }
    }
}
