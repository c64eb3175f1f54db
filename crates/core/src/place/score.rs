//! The score that chooses among workers that could take a job now.

use crate::event::Score;
use crate::model::config::Weights;
use crate::model::{Micros, Priority};

const ONE: i64 = 1_000_000;

/// A weighted sum of how soon the job would be finished there compared with the worst candidate,
/// how idle the worker is, and the job's priority.
pub(crate) fn score(
    weights: Weights,
    finish: Micros,
    finish_max: Micros,
    load_permille: u32,
    priority: Priority,
) -> Score {
    let share =
        |part: u64, whole: u64| (u128::from(part) * ONE as u128 / u128::from(whole.max(1))) as i64;
    let wait = ONE - share(finish.0, finish_max.0.max(finish.0));
    let load = ONE - i64::from(load_permille.min(1_000)) * (ONE / 1_000);
    let priority = i64::from(priority.points()) * (ONE / 100);
    let sum = i64::from(weights.wait) * wait
        + i64::from(weights.load) * load
        + i64::from(weights.priority) * priority;
    Score(sum / 1_000)
}
