//! The files of idempotency keys and ids beside the journal: written late, found by whoever submits.

use std::collections::{BTreeMap, VecDeque};

use bellwether_core::model::{
    JobId, JobNo, KeyFound, KeysSeen, Name, Submission, TakenKey, is_made_by_scheduler,
};
use bellwether_core::{Entry, Event, State};

/// What keys begin with that are passed over: they are remembered by the engine alone.
pub(crate) const AUTOMATIC_KEY: &str = "auto-";

#[derive(Debug, Default)]
pub(crate) struct KeyFiles {
    /// Keys and ids of jobs up to this one are on the disk.
    kept: JobNo,
    keys: BTreeMap<Name, KeyFound>,
    ids: BTreeMap<JobId, JobNo>,
    /// Durable in the journal, and not written yet, in the order of jobs.
    waiting: VecDeque<Taken>,
}

#[derive(Debug)]
enum Taken {
    Key(Name, KeyFound),
    Id(JobId, JobNo),
}

impl Taken {
    fn job(&self) -> JobNo {
        match self {
            Taken::Key(_, KeyFound { job, .. }) | Taken::Id(_, job) => *job,
        }
    }
}

impl KeyFiles {
    /// A process starts with what its engine remembers.
    pub(crate) fn restart(&mut self, state: &State) {
        let unwritten = |taken: &&TakenKey| taken.job > self.kept;
        let key =
            |key: &TakenKey| Taken::Key(key.name.clone(), KeyFound { job: key.job, print: 0 });
        let keys = state.keys.iter().filter(unwritten).map(key);
        let id = |id: &TakenKey| Taken::Id(id.name.clone().into(), id.job);
        let mut taken: Vec<Taken> =
            keys.chain(state.ids.iter().filter(unwritten).map(id)).collect();
        taken.sort_by_key(Taken::job);
        self.waiting = taken.into();
    }

    pub(crate) fn see(&mut self, entry: &Entry) {
        let Event::Submitted { first, jobs, .. } = &entry.event else { return };
        for (job, no) in jobs.iter().zip((first.0..).map(JobNo)) {
            if let Some(key) = &job.spec.idempotency_key {
                let found = KeyFound { job: no, print: job.spec.print() };
                self.waiting.push_back(Taken::Key(key.clone(), found));
            }
            if !is_made_by_scheduler(&job.spec.id) {
                self.waiting.push_back(Taken::Id(job.spec.id.clone(), no));
            }
        }
    }

    /// At least so many, and all of the last job.
    pub(crate) fn write(&mut self, count: usize) {
        let mut written = 0;
        while let Some(next) = self.waiting.front()
            && (written < count || next.job() == self.kept)
        {
            self.kept = next.job();
            written += 1;
            match self.waiting.pop_front() {
                Some(Taken::Key(key, found)) if !key.as_str().starts_with(AUTOMATIC_KEY) => {
                    self.keys.insert(key, found);
                }
                Some(Taken::Id(id, job)) => {
                    self.ids.insert(id, job);
                }
                Some(Taken::Key(..)) | None => {}
            }
        }
    }

    pub(crate) fn look(&self, submission: &Submission) -> KeysSeen {
        let mut seen = KeysSeen { kept: self.kept, ..KeysSeen::default() };
        for (index, job) in submission.jobs.iter().enumerate() {
            let key = job.idempotency_key.as_ref().and_then(|key| self.keys.get(key));
            seen.found.extend(key.map(|found| (index, *found)));
            seen.ids.extend(self.ids.get(&job.id).map(|job| (index, *job)));
        }
        seen
    }
}
