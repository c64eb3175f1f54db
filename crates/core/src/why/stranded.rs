//! Jobs that wait for somebody who is not there.

use std::collections::BTreeSet;

use crate::index::classes::Class;
use crate::index::groups::GroupNo;
use crate::model::{Target, WorkerStatus};
use crate::state::{State, Worker};

impl State {
    /// Ready jobs that no worker that is there could run, room or not. Walks the classes of jobs.
    pub fn stranded_jobs(&self) -> u64 {
        let there = |worker: &&Worker| worker.status != WorkerStatus::Unreachable;
        let workers = self.workers().map(|(_, worker)| worker).filter(there);
        let groups: BTreeSet<GroupNo> = workers.map(|worker| worker.listing.group).collect();
        let classes = self.index.classes.iter();
        let waiting = classes.filter(|class| !class.paused && !class.ready.is_empty());
        let stranded = waiting.filter(|class| !self.has_taker(class, &groups));
        stranded.map(|class| class.ready.len() as u64).sum()
    }

    fn has_taker(&self, class: &Class, groups: &BTreeSet<GroupNo>) -> bool {
        match &class.requirements.target {
            Target::Receiver(receiver) => {
                let worker = self.worker_no(receiver.as_str()).and_then(|no| self.worker(no));
                worker.is_some_and(|worker| worker.status != WorkerStatus::Unreachable)
            }
            Target::Any | Target::Role(_) => {
                class.groups.iter().any(|group| groups.contains(group))
            }
        }
    }
}
