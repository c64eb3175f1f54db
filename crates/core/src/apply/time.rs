//! The scheduler's absence and the wall clock: what they do to moments that were fixed before.

use crate::index::timers::Timer;
use crate::model::{HeldAttempt, JobNo, Micros, WallAhead};
use crate::state::{JobState, State};

impl State {
    /// Every open attempt has so much more time.
    pub(super) fn extend_terms(&mut self, by: Micros) {
        let held: Vec<HeldAttempt> =
            self.workers.iter().flat_map(|(_, worker)| worker.held.iter().copied()).collect();
        for HeldAttempt { job, token } in held {
            self.change_phase(job, token, |phase| phase.extended(by));
        }
    }

    /// Who waits for a moment of the wall clock waits for it still, which is sooner or later now.
    /// Spans stay what they are.
    pub(super) fn step_clock(&mut self, to: WallAhead) {
        let from = std::mem::replace(&mut self.wall_ahead, to);
        for no in self.index.timers.delayed_jobs() {
            self.wait_for_the_wall(no, from, to);
        }
    }

    fn wait_for_the_wall(&mut self, no: JobNo, from: WallAhead, to: WallAhead) {
        let job = self.expect_job_mut(no);
        let (before, after) = (job.spec.extras().due(from), job.spec.extras().due(to));
        // A job that is tried again may wait for the end of its backoff.
        if before == after || job.state != (JobState::Delayed { until: before }) {
            return;
        }
        job.state = JobState::Delayed { until: after };
        self.index.timers.unset(before, Timer::Delayed(no));
        self.index.timers.set(after, Timer::Delayed(no));
    }
}
