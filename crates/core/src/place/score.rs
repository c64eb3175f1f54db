//! The score that chooses among workers that could take a job now.

use crate::event::{Score, Terms};
use crate::model::Micros;
use crate::model::config::Weights;

const ONE: i64 = 1_000_000;

/// What a job may at most lose by a choice, as a share of the soonest finish: a worker that is
/// later than that has nothing of the wait's weight, and cannot make up for it by being idle.
const WAIT_MAX_PERCENT: u64 = 25;

/// How long the job would wait for its result beyond the soonest candidate, and how idle the
/// worker is.
///
/// A worker with a free slot is never fully loaded, so with equal weights a faster one wins over a
/// slower one; load decides between those that are about equally fast.
pub(crate) fn terms(finish: Micros, soonest: Micros, load_permille: u32) -> Terms {
    let share =
        |part: u64, whole: u64| (u128::from(part) * ONE as u128 / u128::from(whole.max(1))) as i64;
    let wait_max = (soonest.0 / 100 * WAIT_MAX_PERCENT).max(1);
    Terms {
        wait: Score(ONE - share(finish.minus(soonest).0.min(wait_max), wait_max)),
        load: Score(ONE - i64::from(load_permille.min(1_000)) * (ONE / 1_000)),
    }
}

/// From 0 to 1: so many of 100 points.
pub(crate) fn priority_term(points: u32) -> Score {
    Score(i64::from(points) * (ONE / 100))
}

/// The plain formula: how long the job would wait before it starts, as a share of the longest wait
/// among the candidates, and how idle the worker is.
pub(crate) fn plain_terms(wait: Micros, wait_max: Micros, load_permille: u32) -> Terms {
    let share = u128::from(wait.0) * ONE as u128 / u128::from(wait_max.0.max(1));
    Terms {
        wait: Score(ONE - share as i64),
        load: Score(ONE - i64::from(load_permille.min(1_000)) * (ONE / 1_000)),
    }
}

pub(crate) fn weighted(weights: Weights, terms: Terms, priority: Score) -> Score {
    let sum = i64::from(weights.wait) * terms.wait.0
        + i64::from(weights.load) * terms.load.0
        + i64::from(weights.priority) * priority.0;
    Score(sum / 1_000)
}
