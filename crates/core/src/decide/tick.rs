//! The supervisor: what happens because something did not.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::index::timers::Timer;
use crate::model::limits::OFFERS_MAX;
use crate::model::{
    FailureCause, Guarantee, JobNo, Phase, Timestamp, Token, WorkerNo, WorkerStatus,
};
use crate::place::candidates::Wanted;
use crate::place::choose::{Choice, Reserved};
use crate::place::predictor::PredictorError;
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
            Phase::Offered { since, .. } => {
                let expires_at = since + self.state.config.unreachable_after;
                if expires_at <= now {
                    self.give_up(no, token, "the offer was not acknowledged");
                    return;
                }
                if attempt.phase.deadline() <= now {
                    self.hedge(no, token);
                }
                self.look_again(no, token, expires_at);
            }
        }
    }

    fn look_again(&mut self, job: JobNo, token: Token, at: Timestamp) {
        self.state.index.timers.set(at, Timer::Attempt(job, token));
    }

    /// The worker is quiet: the job is offered to a second one, if the budget allows.
    fn hedge(&mut self, no: JobNo, quiet: Token) {
        let job = self.state.expect_job(no);
        let Some(attempt) = job.attempt(quiet) else { return };
        let mut allowed = job.spec.guarantee != Guarantee::AtMostOnce
            && self.state.totals.hedged < self.state.hedge_allowance();
        #[cfg(feature = "defects")]
        {
            use crate::defect::Defect;
            let budget = self.state.totals.hedged < self.state.hedge_allowance();
            allowed |= self.has(Defect::HedgeAtMostOnce) && budget;
            allowed |=
                self.has(Defect::IgnoreHedgeBudget) && job.spec.guarantee != Guarantee::AtMostOnce;
        }
        allowed &= job.offers().len() < OFFERS_MAX && !self.state.is_paused(job.spec.kind());
        // The other offer may have failed meanwhile; what it left is the last this job gets.
        allowed &= job.counts.failures <= job.spec.retries_of_taken()
            && job.counts.crashes < self.state.config.max_crashes;
        if !allowed {
            return;
        }
        let quiet = attempt.worker;
        let usable = self.state.breaker.allows(self.state.now);
        let choice = self.second_choice(no, quiet, !usable).or_else(|error| {
            self.predictor_failed(no, error.to_string());
            self.second_choice(no, quiet, true)
        });
        match choice {
            Ok(Choice::Worker { worker, decision }) => {
                self.emit(Event::Assigned { job: no, worker, hedge: true, decision });
            }
            // Nobody else has room; the offer may still be acknowledged.
            Ok(Choice::Nobody | Choice::Hold { .. }) => {}
            Err(error) => unreachable!("round-robin asks no predictor: {error}"),
        }
    }

    fn second_choice(
        &self,
        no: JobNo,
        quiet: WorkerNo,
        fallback: bool,
    ) -> Result<Choice, PredictorError> {
        let wanted = Wanted {
            no,
            job: self.state.expect_job(no),
            now: self.state.now,
            except: Some(quiet),
            predictor: (!fallback).then_some(self.predictor.as_ref()),
        };
        self.state.choose(&wanted, fallback, &Reserved::default())
    }
}
