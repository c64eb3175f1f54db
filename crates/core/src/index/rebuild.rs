//! The index of a state of which only the facts are known.

use super::timers::Timer;
use crate::model::{JobId, JobNo, WorkerNo};
use crate::state::{JobState, Listing, State};

impl State {
    pub(crate) fn derive_index(&mut self) {
        self.now = self.event_time;
        for (no, run) in self.runs.iter() {
            self.index.run_ids.insert(run.id.clone(), no);
        }
        for id in self.ids.iter().filter(|id| self.jobs.get(id.job).is_none()) {
            self.index.former_ids.insert(JobId::from(id.name.clone()), id.job);
        }
        for key in self.keys.iter() {
            self.index.keys.insert(key.name.clone(), key.job);
        }
        for (no, known) in self.actors.iter() {
            self.index.actors.insert(known.actor.clone(), no);
        }
        let workers: Vec<WorkerNo> = self.workers.keys().collect();
        for no in workers {
            let id = self.expect_worker(no).spec.id.clone();
            self.index.worker_ids.insert(id, no);
            self.enter_group(no);
            self.relist_worker(no);
        }
        let jobs: Vec<JobNo> = self.jobs.keys().collect();
        for no in jobs {
            self.index_job(no);
        }
        self.index.dirty = true;
    }

    /// Forgets what is no fact: the moment, who was heard of when, and what was to be looked at then. A
    /// state that was restored knows no more.
    pub(crate) fn forget_moment(&mut self) {
        self.now = self.event_time;
        self.index.timers.keep_delayed();
        self.index.look_again_at = None;
        self.index.wakes.clear();
        let workers: Vec<WorkerNo> = self.workers.keys().collect();
        for no in workers {
            let listing = &mut self.expect_worker_mut(no).listing;
            let Listing { group, instant, .. } = *listing;
            let listed = listing.listed.take();
            *listing = Listing { group, listed, instant, ..Listing::default() };
            for held in self.expect_worker(no).held.clone() {
                let attempt = self.expect_job(held.job).attempt(held.token);
                let attempt = attempt.expect("a worker holds attempts that are open");
                let timer = Timer::Attempt(held.job, held.token);
                self.index.timers.set(attempt.phase.deadline(), timer);
            }
        }
        self.reconsider_all();
    }

    fn index_job(&mut self, no: JobNo) {
        let job = self.jobs.get_mut(no).expect("it is one of those that are remembered");
        self.index.ids.insert(job.spec.id.clone(), no);
        job.derived.features = self.statistics.features(&job.spec);
        if job.state.has_ended() {
            return;
        }
        self.share_requirements(no);
        self.enter_class(no);
        let job = self.jobs.get(no).expect("it was there a line ago");
        if !matches!(job.state, JobState::Waiting { .. }) {
            self.enter_keys(no);
        }
        let job = self.jobs.get(no).expect("it was there a line ago");
        match &job.state {
            JobState::Ready => self.list_ready(no),
            JobState::Delayed { until } => self.index.timers.set(*until, Timer::Delayed(no)),
            JobState::Active(attempts) => {
                for attempt in attempts.clone() {
                    self.take_keys(no);
                    let timer = Timer::Attempt(no, attempt.token);
                    self.index.timers.set(attempt.phase.deadline(), timer);
                    let listing = &mut self.expect_worker_mut(attempt.worker).listing;
                    listing.instant += u32::from(attempt.is_instant());
                    self.relist_worker(attempt.worker);
                }
            }
            JobState::Waiting { .. }
            | JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. } => {}
        }
    }
}
