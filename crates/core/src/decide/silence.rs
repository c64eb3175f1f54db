//! Offers that nobody answers: they are placed elsewhere, and a worker that leaves several
//! unanswered is given nothing until it speaks.

use crate::engine::Engine;
use crate::event::Event;
use crate::index::timers::Timer;
use crate::model::limits::OFFERS_MAX;
use crate::model::{FailureCause, Guarantee, JobNo, Phase, Timestamp, Token, WorkerNo};
use crate::place::candidates::Wanted;
use crate::place::choose::Choice;
use crate::place::plan::Plan;
use crate::place::predictor::PredictorError;
use crate::state::Job;

/// Offers that a worker may leave unanswered before it counts as silent.
const MISSES_MAX: usize = 2;

impl Engine {
    /// An offer was not answered in time. What that says of the worker is volatile, like when it was
    /// last heard of, until it makes the worker silent.
    pub(super) fn miss_offer(&mut self, no: WorkerNo, token: Token, since: Timestamp) {
        let worker = self.state.expect_worker(no);
        // It has spoken of others since, or its slots are taken and the offer waits its turn there.
        if worker.listing.spoke_at > since || self.has_full_slots(no) {
            return;
        }
        let listing = &mut self.state.expect_worker_mut(no).listing;
        if listing.missed.len() < MISSES_MAX && !listing.missed.contains(&token) {
            listing.missed.push(token);
        }
        let many = listing.missed.len() >= MISSES_MAX;
        if many && self.state.expect_worker(no).silent_since.is_none() {
            self.emit(Event::WorkerSilent { worker: no });
        }
    }

    fn has_full_slots(&self, no: WorkerNo) -> bool {
        let worker = self.state.expect_worker(no);
        let runs = |held: &&crate::model::HeldAttempt| {
            let attempt = self.state.job(held.job).and_then(|job| job.attempt(held.token));
            attempt.is_some_and(|attempt| matches!(attempt.phase, Phase::Running { .. }))
        };
        worker.held.iter().filter(runs).count() >= worker.spec.slots as usize
    }

    /// It said something of an attempt, whatever it was, or came anew: it is there. That becomes a
    /// fact with the next look at the timers, because what it said may be refused.
    pub(super) fn has_spoken(&mut self, no: WorkerNo) {
        let now = self.state.now;
        let worker = self.state.expect_worker_mut(no);
        worker.listing.spoke_at = now;
        worker.listing.missed.clear();
        if worker.silent_since.is_some() {
            self.state.index.timers.set(now, Timer::Silent(no));
        }
    }

    pub(super) fn hear(&mut self, no: WorkerNo) {
        if self.state.worker(no).is_some_and(|worker| worker.silent_since.is_some()) {
            self.emit(Event::WorkerHeard { worker: no });
        }
    }

    /// A heartbeat is no answer to an offer. But what was sent may have been lost on the way, so one
    /// that goes on beating is given another chance in the end.
    pub(super) fn try_silent_again(&mut self, no: WorkerNo) {
        let Some(since) = self.state.expect_worker(no).silent_since else { return };
        if self.state.now.since(since) >= self.state.config.unreachable_after {
            self.has_spoken(no);
        }
    }

    /// The worker of this offer is quiet: the job is offered to another. As long as the budget for
    /// work that may run twice allows, the first offer stays open and whoever starts first wins; past
    /// it the offer is taken back, so that the job can start in one place only.
    pub(super) fn place_elsewhere(&mut self, no: JobNo) {
        let job = self.state.expect_job(no);
        if !self.may_be_offered_again(job) {
            return;
        }
        let within_budget = self.state.totals.hedged < self.state.hedge_allowance();
        #[cfg(feature = "defects")]
        let within_budget = within_budget || self.has(crate::defect::Defect::IgnoreHedgeBudget);
        // A second offer may run beside the first, so it takes as much of the job's keys again.
        let have_room =
            job.spec.key_set().is_none_or(|keys| self.state.index.gates.have_room(keys));
        #[cfg(feature = "defects")]
        let have_room = have_room || self.has(crate::defect::Defect::HedgePastKeyLimit);
        if within_budget && have_room && job.offers().len() < OFFERS_MAX {
            self.hedge(no);
        } else {
            self.move_offers(no);
        }
    }

    fn may_be_offered_again(&self, job: &Job) -> bool {
        let once = job.spec.guarantee == Guarantee::AtMostOnce;
        #[cfg(feature = "defects")]
        let once = once && !self.has(crate::defect::Defect::HedgeAtMostOnce);
        // The other offer may have failed meanwhile; what it left is the last this job gets.
        let may_fail = job.counts.failures <= job.spec.retries_of_taken()
            && job.counts.crashes < self.state.config.max_crashes;
        !once && may_fail && !self.state.is_paused(job.spec.kind())
    }

    fn hedge(&mut self, no: JobNo) {
        let usable = self.state.breaker.allows(self.state.now);
        let choice = self.other_choice(no, !usable).or_else(|error| {
            self.predictor_failed(no, error.to_string());
            self.other_choice(no, true)
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

    /// Takes every offer of the job back once all are overdue and another worker has room: none
    /// has started, so it is no second execution. The job goes back to its place in the queue.
    fn move_offers(&mut self, no: JobNo) {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::LeaveQuietOffers) {
            return;
        }
        let now = self.state.now;
        let job = self.state.expect_job(no);
        let offers = job.offers();
        let overdue = |phase: Phase| match phase {
            Phase::Offered { since, quiet_at } => {
                self.state.overdue_at(job, since, quiet_at) <= now
            }
            Phase::Running { .. } => false,
        };
        if !offers.iter().all(|attempt| overdue(attempt.phase)) {
            return;
        }
        let tokens: Vec<Token> = offers.iter().map(|attempt| attempt.token).collect();
        // Whom it goes to is decided with the queue; here it only counts that there is somebody.
        let Ok(Choice::Worker { .. }) = self.other_choice(no, true) else { return };
        for token in tokens {
            let error = "the offer was not acknowledged in time".to_owned();
            self.fail_attempt(no, token, FailureCause::Undelivered, error, None);
        }
    }

    /// The choice among those that have no offer of the job.
    fn other_choice(&self, no: JobNo, fallback: bool) -> Result<Choice, PredictorError> {
        let job = self.state.expect_job(no);
        let holders: Vec<WorkerNo> = job.offers().iter().map(|attempt| attempt.worker).collect();
        let wanted = Wanted {
            no,
            job,
            now: self.state.now,
            except: &holders,
            predictor: (!fallback).then_some(self.predictor.as_ref()),
        };
        self.state.choose(&wanted, fallback, &mut Plan::default())
    }
}
