//! The order of jobs.
//!
//! A rank is a moment: that of the submission, put off by the predicted duration (shorter work
//! goes first), brought forward by priority and, in a run, by the critical path below the job.
//! All terms are bounded and fixed at submission, so every job's rank is some day the lowest:
//! nothing starves.
//!
//! The duration counts less and less the longer it is: among short jobs the order is by length,
//! but the long ones, whose waiting would make the tail, are put off by a few mean durations only.

use crate::model::{Config, Micros, Priority, Timestamp};

/// Mean durations that a job is counted as at the most, however long it is.
const MEANS_MAX: u64 = 3;

pub(crate) struct RankTerms {
    pub(crate) submitted_at: Timestamp,
    pub(crate) priority: Priority,
    pub(crate) predicted: Micros,
    /// What attempts have taken lately.
    pub(crate) mean: Micros,
    /// The longest predicted chain from this job to the end of its run, itself included; none for
    /// a job on its own.
    pub(crate) path: Option<Micros>,
}

pub(crate) fn rank(config: &Config, terms: &RankTerms) -> i64 {
    let cap = config.rank_bonus_max.0;
    let scaled = |span: Micros, percent: u32| {
        (u128::from(span.0) * u128::from(percent) / 100).min(u128::from(cap)) as i64
    };
    let base = i64::try_from(terms.submitted_at.0).unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
    let duration = match terms.path {
        Some(path) => -scaled(path, config.rank_path_percent),
        None => scaled(saturating(terms.predicted, terms.mean), config.rank_duration_percent),
    };
    base + duration - priority_bonus(config, terms.priority)
}

/// The duration itself while it is short, and never more than a few means.
fn saturating(duration: Micros, mean: Micros) -> Micros {
    let most = mean.times(MEANS_MAX);
    let sum = u128::from(most.0) + u128::from(duration.0);
    Micros((u128::from(duration.0) * u128::from(most.0) / sum.max(1)) as u64)
}

/// How far ahead of a normal job this priority is.
pub(crate) fn priority_bonus(config: &Config, priority: Priority) -> i64 {
    let points = |priority| i64::from(config.priorities.points(priority));
    let points = points(priority) - points(Priority::Normal);
    let cap = i64::try_from(config.rank_bonus_max.0).unwrap_or(i64::MAX / 4);
    let each = i64::try_from(config.rank_priority_point.0).unwrap_or(i64::MAX / 400);
    points.saturating_mul(each).clamp(-cap, cap)
}
