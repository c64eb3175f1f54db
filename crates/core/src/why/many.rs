//! What keeps each of many jobs, without a look at the workers for every single one.

use std::collections::BTreeMap;

use super::Why;
use crate::index::classes::ClassNo;
use crate::model::{JobNo, JobStatus, Name, Timestamp};
use crate::state::{JobState, State};

/// Jobs that one thing keeps, and what is said of the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAlike {
    pub state: JobStatus,
    pub jobs: u64,
    pub first: Why,
}

/// What jobs have in common that are kept by the same: what they ask for, once they are ready.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// And by the key that keeps them, if one does.
    Ready(ClassNo, Option<Name>),
    Delayed {
        tried: bool,
    },
    Other(JobStatus),
}

impl State {
    /// Why these jobs are not further, those together that one thing keeps; those that are not known any
    /// more are left out. Walks the workers once for all jobs that ask for the same.
    pub fn why_many(&self, jobs: &[JobNo], now: Timestamp) -> Vec<KeptAlike> {
        let mut alike: BTreeMap<Likeness, KeptAlike> = BTreeMap::new();
        for no in jobs {
            let Some(job) = self.job(*no) else { continue };
            let state = job.state.status();
            let likeness = match &job.state {
                JobState::Ready => {
                    let key = self.keeping_key(*no, job).map(|(each, _)| each.key.clone());
                    Likeness::Ready(job.derived.class, key)
                }
                JobState::Delayed { .. } => Likeness::Delayed { tried: job.counts.ended() > 0 },
                _ => Likeness::Other(state),
            };
            alike
                .entry(likeness)
                .or_insert_with(|| KeptAlike { state, jobs: 0, first: self.why(*no, now) })
                .jobs += 1;
        }
        alike.into_values().collect()
    }
}
