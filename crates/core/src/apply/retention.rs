//! Forgetting: what has ended leaves the core after a while, so memory stays bounded. The registry
//! outside keeps the history.

use crate::model::queue::Queue;
use crate::model::{
    Config, JobNo, KeyStanding, MovedKey, TakenKey, Timestamp, WorkerNo, WorkerStatus,
    is_made_by_scheduler,
};
use crate::state::State;

impl State {
    pub(super) fn forget(&mut self, at: Timestamp) {
        while let Some((ended_at, no)) = self.ended.front().copied()
            && (self.ended.len() as u64 > self.config.retain_jobs
                || at.since(ended_at) > self.config.retain_for)
        {
            self.ended.pop_front();
            self.forget_job(no, ended_at);
        }
        while let Some(key) =
            pop_leaving(&mut self.keys, self.config.idempotency_max, &self.config, at)
        {
            if at.since(key.at) <= self.config.idempotency_for {
                self.moved_key = MovedKey { at: key.at, job: key.job };
            }
            if self.index.keys.get(&key.name) == Some(&key.job) {
                self.index.keys.remove(&key.name);
            }
        }
        while let Some(id) =
            pop_leaving(&mut self.ids, self.config.ids_in_memory(), &self.config, at)
        {
            if at.since(id.at) <= self.config.idempotency_for {
                self.moved_id = MovedKey { at: id.at, job: id.job };
            }
            if self.index.former_ids.get(&id.name) == Some(&id.job) {
                self.index.former_ids.remove(&id.name);
            }
        }
        while let Some((gone_at, no)) = self.gone.front().copied()
            && at.since(gone_at) > self.config.forget_workers_after
        {
            self.gone.pop_front();
            self.forget_worker(no, gone_at);
        }
    }

    /// Unless it was reopened since.
    fn forget_job(&mut self, no: JobNo, ended_at: Timestamp) {
        let Some(job) = self.jobs.get(no) else { return };
        if !job.state.has_ended() || job.ended_at != ended_at {
            return;
        }
        let job = self.jobs.remove(no).expect("it was there a line ago");
        self.handoffs.remove(&no);
        let id = &job.spec.id;
        if self.index.ids.get(id) == Some(&no) {
            self.index.ids.remove(id);
            // All given ids from that one on are still known.
            if self.ids.front().is_some_and(|oldest| oldest.job <= no) && !is_made_by_scheduler(id)
            {
                self.index.former_ids.insert(id.clone(), no);
            }
        }
        let Some(run_no) = job.run else { return };
        let Some(run) = self.runs.get_mut(run_no) else { return };
        run.remembered -= 1;
        if run.remembered == 0 {
            let run = self.runs.remove(run_no).expect("it was there a line ago");
            self.index.run_ids.remove(&run.id);
        }
    }

    /// Unless it came back since.
    fn forget_worker(&mut self, no: WorkerNo, gone_at: Timestamp) {
        let Some(worker) = self.workers.get(no) else { return };
        if worker.status != WorkerStatus::Unreachable || worker.changed_at != gone_at {
            return;
        }
        self.leave_group(no);
        let worker = self.workers.remove(no).expect("it was there a line ago");
        self.index.worker_ids.remove(&worker.spec.id);
        // Ids that nobody chose are as many as processes.
        let bound = self.worker_keys.get(&worker.spec.id);
        if bound.is_some_and(|bound| bound.standing == KeyStanding::FirstUse) {
            self.worker_keys.remove(&worker.spec.id);
        }
    }
}

/// The oldest, if it had its time or there are more than can be remembered.
fn pop_leaving(
    taken: &mut Queue<TakenKey>,
    max: u64,
    config: &Config,
    at: Timestamp,
) -> Option<TakenKey> {
    let oldest = taken.front()?;
    let leaves = taken.len() as u64 > max || at.since(oldest.at) > config.idempotency_for;
    if leaves { taken.pop_front() } else { None }
}
