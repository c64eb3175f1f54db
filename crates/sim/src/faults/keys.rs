//! The files of idempotency keys beside the journal: written late, found by whoever submits.

use std::collections::{BTreeMap, VecDeque};

use bellwether_core::model::{JobNo, KeyFound, KeysSeen, Name, Submission};
use bellwether_core::{Entry, Event, State};

#[derive(Debug, Default)]
pub(crate) struct KeyFiles {
    /// Keys of jobs up to this one are on the disk.
    kept: JobNo,
    keys: BTreeMap<Name, KeyFound>,
    /// Durable in the journal, and not written yet.
    waiting: VecDeque<(Name, KeyFound)>,
}

impl KeyFiles {
    /// A process starts with what its engine remembers.
    pub(crate) fn restart(&mut self, state: &State) {
        let unwritten = state.keys.iter().filter(|key| key.job > self.kept);
        self.waiting =
            unwritten.map(|key| (key.name.clone(), KeyFound { job: key.job, print: 0 })).collect();
    }

    pub(crate) fn see(&mut self, entry: &Entry) {
        let Event::Submitted { first, jobs, .. } = &entry.event else { return };
        for (job, no) in jobs.iter().zip((first.0..).map(JobNo)) {
            if let Some(key) = &job.spec.idempotency_key {
                let found = KeyFound { job: no, print: job.spec.print() };
                self.waiting.push_back((key.clone(), found));
            }
        }
    }

    pub(crate) fn write(&mut self, count: usize) {
        for (key, found) in self.waiting.drain(..count.min(self.waiting.len())) {
            self.kept = found.job;
            self.keys.insert(key, found);
        }
    }

    pub(crate) fn look(&self, submission: &Submission) -> KeysSeen {
        let key = |job: &bellwether_core::model::JobSpec| {
            self.keys.get(job.idempotency_key.as_ref()?).copied()
        };
        let jobs = submission.jobs.iter().enumerate();
        let found = jobs.filter_map(|(index, job)| Some((index, key(job)?))).collect();
        KeysSeen { kept: self.kept, found }
    }
}
