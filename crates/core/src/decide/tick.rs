//! The supervisor: what happens because something did not.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::index::timers::Timer;
use crate::model::{FailureCause, JobNo, Phase, Timestamp, Token, WorkerNo, WorkerStatus};
use crate::rejection::Rejection;
use crate::state::JobState;

/// Timers that one tick looks at; the others are due at once again.
const TIMERS_PER_TICK_MAX: usize = 10_000;

impl Engine {
    pub(crate) fn tick(&mut self) -> Result<Answer, Rejection> {
        for _ in 0..TIMERS_PER_TICK_MAX {
            let Some(timer) = self.state.index.timers.due(self.state.now) else { break };
            match timer {
                Timer::Worker(no) => self.check_worker(no),
                Timer::Delayed(no) => self.check_delay(no),
                Timer::Attempt(job, token) => self.check_attempt(job, token),
                Timer::Silent(no) => self.hear(no),
            }
        }
        Ok(Answer::Done)
    }

    fn check_worker(&mut self, no: WorkerNo) {
        let term = self.state.config.unreachable_after;
        let now = self.state.now;
        let Some(worker) = self.state.workers.get_mut(no) else { return };
        if worker.status == WorkerStatus::Unreachable {
            worker.listing.watched = false;
            return;
        }
        let due = worker.listing.seen_at + term;
        if due > now {
            self.state.index.timers.set(due, Timer::Worker(no));
            return;
        }
        worker.listing.watched = false;
        self.abandon(no, "the worker was not heard of in time");
        self.emit(Event::WorkerLost { worker: no });
    }

    fn check_delay(&mut self, no: JobNo) {
        let Some(job) = self.state.job(no) else { return };
        let JobState::Delayed { until } = job.state else { return };
        if until <= self.state.now {
            self.emit(Event::Due { job: no });
        }
    }

    fn check_attempt(&mut self, no: JobNo, token: Token) {
        let now = self.state.now;
        let Some(job) = self.state.job(no) else { return };
        let Some(attempt) = job.attempt(token) else { return };
        match attempt.phase {
            Phase::Running { timeout_at, stalled_at, .. } => {
                let (cause, error) = if timeout_at <= now {
                    (
                        FailureCause::TimedOut,
                        format!("ran longer than {}", job.spec.timeout_of_taken()),
                    )
                } else if stalled_at.is_some_and(|at| at <= now) {
                    let limit = self.state.config.stall_after;
                    (FailureCause::Stalled, format!("no progress for {limit}"))
                } else {
                    return self.look_again(no, token, attempt.phase.deadline());
                };
                self.fail_attempt(no, token, cause, error, None);
            }
            Phase::Offered { since, quiet_at } => {
                let expires_at = since + self.state.config.unreachable_after;
                if expires_at <= now {
                    self.give_up(no, token, "the offer was not acknowledged");
                    return;
                }
                let overdue_at = self.state.overdue_at(job, since, quiet_at);
                if overdue_at <= now {
                    self.miss_offer(attempt.worker, token, since);
                }
                if quiet_at <= now {
                    self.place_elsewhere(no);
                }
                // Whoever has no room now may have some later.
                let later = now + overdue_at.since(since);
                let next = [quiet_at, overdue_at, later].into_iter().find(|at| *at > now);
                if self.state.job(no).is_some_and(|job| job.attempt(token).is_some()) {
                    self.look_again(no, token, expires_at.min(next.unwrap_or(expires_at)));
                }
            }
        }
    }

    fn look_again(&mut self, job: JobNo, token: Token, at: Timestamp) {
        self.state.index.timers.set(at, Timer::Attempt(job, token));
    }
}
