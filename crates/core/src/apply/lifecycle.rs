//! Attempts as they start and end, and jobs as they end and start over.

use crate::index::timers::Timer;
use crate::model::{
    Attempt, FailureCause, JobNo, JobStatus, Micros, OnFailure, Phase, Resources, Timestamp, Token,
};
use crate::place::predictor::Observation;
use crate::state::{JobState, State};

/// How much the last gap between two ends counts in the average: one in so many.
const END_GAP_WEIGHT: u64 = 8;
/// The same, for how long attempts take.
const MEAN_WEIGHT: u64 = 64;

impl State {
    /// Books an attempt on its worker.
    pub(super) fn attach(
        &mut self,
        no: JobNo,
        attempt: &Attempt,
        resources: Resources,
        at: Timestamp,
    ) {
        let worker = self.expect_worker_mut(attempt.worker);
        worker.held.push(crate::command::attempt(no, attempt.token));
        worker.used.cpu = worker.used.cpu.saturating_add(resources.cpu);
        worker.used.memory = worker.used.memory.saturating_add(resources.memory);
        worker.short += u32::from(attempt.short);
        worker.listing.instant += u32::from(attempt.is_instant());
        let group = worker.listing.group;
        let ends = &mut self.index.groups.get_mut(group).ends;
        ends.insert((at + attempt.predicted, no, attempt.token));
        self.relist_worker(attempt.worker);
    }

    /// How the worker of this attempt did: without a cause it completed.
    pub(super) fn count_attempt(&mut self, no: JobNo, token: Token, cause: Option<FailureCause>) {
        let Some(worker) = self.expect_job(no).attempt(token).map(|attempt| attempt.worker) else {
            return;
        };
        let worker = self.expect_worker_mut(worker);
        match cause {
            None => worker.completed += 1,
            Some(cause) => worker.failed += u64::from(cause.counts_against_job()),
        }
    }

    /// Takes an attempt off its job and its worker.
    pub(super) fn detach(&mut self, no: JobNo, token: Token, at: Timestamp) {
        let job = self.jobs.get_mut(no).expect("events name jobs that are remembered");
        let JobState::Active(attempts) = &mut job.state else { return };
        let Some(position) = attempts.iter().position(|a| a.token == token) else { return };
        let attempt = attempts.remove(position);
        let resources = job.spec.requirements.resources;
        self.index.timers.unset(attempt.phase.deadline(), Timer::Attempt(no, token));
        self.give_back_keys(no);
        self.release(no, &attempt, resources, at);
    }

    fn release(&mut self, no: JobNo, attempt: &Attempt, resources: Resources, at: Timestamp) {
        let worker = self.workers.get_mut(attempt.worker).expect("attempts are on workers");
        let held = crate::command::attempt(no, attempt.token);
        if let Some(position) = worker.held.iter().position(|other| *other == held) {
            worker.held.swap_remove(position);
        }
        worker.used.cpu = worker.used.cpu.saturating_sub(resources.cpu);
        worker.used.memory = worker.used.memory.saturating_sub(resources.memory);
        worker.short -= u32::from(attempt.short);
        worker.listing.instant -= u32::from(attempt.is_instant());
        worker.busy += at.since(attempt.phase.since());
        let group = worker.listing.group;
        let end = (attempt.offered_at + attempt.predicted, no, attempt.token);
        self.index.groups.get_mut(group).ends.remove(&end);
        self.relist_worker(attempt.worker);
        self.wake(attempt.worker);
    }

    pub(super) fn start_attempt(&mut self, no: JobNo, token: Token, at: Timestamp) {
        let job = self.expect_job(no);
        let (kind, timeout) = (job.derived.features.kind, job.spec.timeout_of_taken());
        let Some(attempt) = job.attempt(token) else { return };
        let Phase::Offered { since, .. } = attempt.phase else { return };
        self.hedging.observe(kind, at.since(since));
        self.change_phase(no, token, |_| Phase::Running {
            since: at,
            timeout_at: at + timeout,
            stalled_at: None,
        });
    }

    pub(super) fn change_phase(
        &mut self,
        no: JobNo,
        token: Token,
        change: impl FnOnce(Phase) -> Phase,
    ) {
        let job = self.jobs.get_mut(no).expect("events name jobs that are remembered");
        let JobState::Active(attempts) = &mut job.state else { return };
        let Some(attempt) = attempts.iter_mut().find(|a| a.token == token) else { return };
        let before = attempt.phase.deadline();
        attempt.phase = change(attempt.phase);
        let after = attempt.phase.deadline();
        self.index.timers.unset(before, Timer::Attempt(no, token));
        self.index.timers.set(after, Timer::Attempt(no, token));
    }

    /// Tells the statistics what the attempt really took.
    pub(super) fn learn_from(&mut self, no: JobNo, token: Token, at: Timestamp) {
        let job = self.expect_job(no);
        let Some(attempt) = job.attempt(token) else { return };
        let (features, predicted, worker) =
            (job.derived.features, attempt.predicted, attempt.worker);
        let started = attempt.phase.since();
        let actual = at.since(started);
        let mean = self.totals.mean_duration.0;
        self.totals.mean_duration = match mean {
            0 => actual,
            _ => Micros(mean - mean / MEAN_WEIGHT + actual.0 / MEAN_WEIGHT),
        };
        let runner = self.expect_worker(worker);
        let class = self.index.groups.get(runner.listing.group).machine;
        let pace = runner.pace;
        if let Some(ratio) = self.statistics.surprise(&features, class, actual) {
            self.regroup(worker, pace.after(ratio));
        }
        self.totals.work += actual;
        self.expect_worker_mut(worker).seen_at = self.totals.work;
        let pace = pace.level();
        let observation = Observation { features, class, started, actual, predicted, pace };
        if let Some(drift) = self.statistics.observe(&observation) {
            self.index.drifts.push(drift);
        }
        let known = self.last_runs.len() < crate::model::limits::PREDICTION_KEYS_MAX;
        let key = (features.kind, features.sender);
        if known || self.last_runs.contains_key(&key) {
            self.last_runs.insert(key, worker);
        }
    }

    pub(super) fn end_job(&mut self, no: JobNo, end: JobState, at: Timestamp) {
        self.unqueue_job(no);
        let tokens: Vec<_> =
            self.expect_job(no).offers().iter().map(|a| (a.token, a.worker)).collect();
        let ran_on = tokens.first().map(|(_, worker)| *worker);
        for (token, _) in &tokens {
            self.detach(no, *token, at);
        }
        self.leave_keys(no);
        self.leave_class(no);
        let completed = matches!(end, JobState::Completed { .. });
        let job = self.expect_job_mut(no);
        job.state = end;
        job.ended_at = at;
        let (run, bytes) = (job.run, job.spec.payload.len() as u64);
        // A job that did not complete may be reopened, and then needs its dependents again.
        let dependents =
            if completed { std::mem::take(&mut job.dependents) } else { job.dependents.clone() };

        self.totals.live -= 1;
        self.totals.payload_bytes -= bytes;
        self.totals.completed += u64::from(completed);
        // Before the first end there is no gap to speak of.
        let first = self.totals.last_end == Timestamp(0);
        let gap = if first { 0 } else { at.since(self.totals.last_end).0 };
        let gap = gap.min(Micros::from_secs(60).0);
        let average = self.totals.end_gap.0;
        self.totals.end_gap = Micros(average - average / END_GAP_WEIGHT + gap / END_GAP_WEIGHT);
        self.totals.last_end = at;
        if let Some(run) = run.and_then(|run| self.runs.get_mut(run)) {
            run.live -= 1;
        }
        self.ended.push_back((at, no));
        for dependent in dependents {
            self.settle(dependent, completed, ran_on, at);
        }
    }

    /// A dependency of `no` has ended.
    fn settle(
        &mut self,
        no: JobNo,
        completed: bool,
        ran_on: Option<crate::model::WorkerNo>,
        at: Timestamp,
    ) {
        let Some(job) = self.jobs.get_mut(no) else { return };
        if !completed {
            job.broken += 1;
        }
        if !completed && job.spec.on_failure == OnFailure::Skip {
            return;
        }
        if completed {
            job.locality = ran_on.into();
        }
        let JobState::Waiting { unmet } = &mut job.state else { return };
        *unmet = unmet.saturating_sub(1);
        if *unmet == 0 {
            let not_before = job.spec.extras().due(self.wall_ahead);
            self.let_go(no, not_before, at);
        }
    }

    /// The job starts over, once what it depends on has ended.
    pub(super) fn reopen(&mut self, no: JobNo, at: Timestamp) {
        let job = self.expect_job(no);
        let open = |dependency: &&JobNo| {
            self.jobs.get(**dependency).is_some_and(|job| !job.state.has_ended())
        };
        let unmet = job.dependencies.iter().filter(open).count();
        let unmet = u32::try_from(unmet).expect("dependencies are bounded");
        let (bytes, run, not_before) =
            (job.spec.payload.len() as u64, job.run, job.spec.extras().due(self.wall_ahead));
        let dependents = job.dependents.clone();

        let job = self.expect_job_mut(no);
        job.state = JobState::Waiting { unmet };
        // Whom it was given to was part of the life that ended.
        self.handoffs.remove(&no);
        self.enter_class(no);
        self.totals.live += 1;
        self.totals.payload_bytes += bytes;
        if let Some(run) = run.and_then(|run| self.runs.get_mut(run)) {
            run.live += 1;
        }
        for dependent in dependents {
            let Some(job) = self.jobs.get_mut(dependent) else { continue };
            job.broken = job.broken.saturating_sub(1);
            // It has counted this job as ended; now it must wait for it again.
            if let JobState::Waiting { unmet } = &mut job.state {
                *unmet += 1;
            }
        }
        match unmet {
            0 => self.let_go(no, not_before, at),
            _ => self.publish(no, JobStatus::Waiting),
        }
    }
}
