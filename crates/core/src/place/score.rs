//! The score that chooses among workers that could take a job now.

use crate::event::Score;
use crate::model::config::Weights;
use crate::model::{Micros, Priority};

const ONE: i64 = 1_000_000;

/// What a job may at most lose by a choice, as a share of the soonest finish: a worker that is
/// later than that has nothing of the wait's weight, and cannot make up for it by being idle.
const WAIT_MAX_PERCENT: u64 = 25;

/// A weighted sum of how long the job would wait for its result beyond the soonest candidate, how
/// idle the worker is, and the job's priority.
///
/// A worker with a free slot is never fully loaded, so with equal weights a faster one wins over a
/// slower one; load decides between those that are about equally fast.
pub(crate) fn score(
    weights: Weights,
    finish: Micros,
    soonest: Micros,
    load_permille: u32,
    priority: Priority,
) -> Score {
    let share =
        |part: u64, whole: u64| (u128::from(part) * ONE as u128 / u128::from(whole.max(1))) as i64;
    let wait_max = (soonest.0 / 100 * WAIT_MAX_PERCENT).max(1);
    let wait = ONE - share(finish.minus(soonest).0.min(wait_max), wait_max);
    let load = ONE - i64::from(load_permille.min(1_000)) * (ONE / 1_000);
    let priority = i64::from(priority.points()) * (ONE / 100);
    let sum = i64::from(weights.wait) * wait
        + i64::from(weights.load) * load
        + i64::from(weights.priority) * priority;
    Score(sum / 1_000)
}
