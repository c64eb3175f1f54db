//! What keeps the jobs that are ready, as a whole.

use std::cmp::Reverse;

use super::KeptAlike;
use crate::model::{JobStatus, Timestamp};
use crate::state::State;

impl State {
    /// What keeps ready jobs, those together that ask for the same, the most first. Walks the classes of
    /// jobs, and the workers once for each of the classes that are told.
    pub fn why_ready_jobs(&self, classes_max: usize, now: Timestamp) -> Vec<KeptAlike> {
        let classes = self.index.classes.iter().filter_map(|class| {
            let (_, first) = class.ready.first()?;
            Some((class.ready.len() as u64, *first))
        });
        let mut classes: Vec<_> = classes.collect();
        classes.sort_by_key(|(jobs, first)| (Reverse(*jobs), *first));
        classes.truncate(classes_max);
        let told = classes.into_iter().map(|(jobs, first)| KeptAlike {
            state: JobStatus::Ready,
            jobs,
            first: self.why(first, now),
        });
        told.collect()
    }
}
