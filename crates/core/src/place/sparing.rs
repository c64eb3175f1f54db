//! Leaving the last fast slots to short jobs.
//!
//! A job on a machine of half the speed takes twice as long, whatever its length, but a long job
//! keeps many short ones from a fast slot meanwhile. So when a faster group of workers is nearly
//! full, jobs above the average length go to a slower one that has room. The very longest do not:
//! they are the tail that everybody waits for.

use super::candidates::{Candidate, Candidates};
use crate::index::groups::GroupNo;
use crate::model::Micros;
use crate::state::{Job, State};

/// The share of a group's slots that is kept for short jobs.
const SPARE_PERCENT: usize = 20;
/// Lengths that give way, in percent of the mean.
const LONG_PERCENT: u64 = 100;
const LONGEST_PERCENT: u64 = 400;
/// How much longer a job takes on what counts as a slower worker.
const SLOWER_PERCENT: u64 = 125;

impl State {
    /// Takes the nearly full faster workers off the list; true if there were any.
    pub(crate) fn spare_fast_slots(&self, job: &Job, found: &mut Candidates) -> bool {
        if job.run.is_some() || found.outlooks.len() < 2 {
            return false;
        }
        let slot = found.list.iter().filter(|c| !c.prefetch);
        let Some(slowest) = slot.map(|c| c.duration).max() else { return false };
        let gives_way = |c: &Candidate| {
            self.is_long(c.duration)
                && percent(c.duration, SLOWER_PERCENT) <= slowest.0
                && self.is_nearly_full(c.group)
        };
        let before = found.list.len();
        found.list.retain(|candidate| !gives_way(candidate));
        found.list.len() < before
    }

    fn is_long(&self, duration: Micros) -> bool {
        let mean = self.totals.mean_duration;
        duration.0 > percent(mean, LONG_PERCENT) && duration.0 < percent(mean, LONGEST_PERCENT)
    }

    fn is_nearly_full(&self, group: GroupNo) -> bool {
        let group = self.index.groups.get(group);
        group.slots.saturating_sub(group.ends.len()) * 100 <= group.slots * SPARE_PERCENT
    }
}

fn percent(span: Micros, percent: u64) -> u64 {
    span.0.saturating_mul(percent) / 100
}
