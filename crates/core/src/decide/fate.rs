//! What becomes of a job whose attempt ended without a result, and of those that depend on it.

use super::bounded;
use crate::engine::Engine;
use crate::event::{DeadReason, Event};
use crate::model::config::Backoff;
use crate::model::{
    FailureCause, Guarantee, JobNo, Micros, OnFailure, RevokeReason, Timestamp, Token, WorkerNo,
};
use crate::place::choose::mix;
use crate::state::JobState;

/// Times a job may come back unstarted before it counts as hopeless.
const RETURNS_MAX: u32 = 1_000;

impl Engine {
    /// Ends an attempt and decides what the job does next.
    pub(super) fn fail_attempt(
        &mut self,
        job: JobNo,
        token: Token,
        cause: FailureCause,
        error: String,
        retry_after: Option<Micros>,
    ) {
        let failed_on = self.state.expect_job(job).attempt(token).map(|attempt| attempt.worker);
        self.emit(Event::AttemptFailed { job, token, cause, error: bounded(error) });
        // Its hedge may still bring the result, unless no attempt can.
        let others: Vec<Token> =
            self.state.expect_job(job).offers().iter().map(|a| a.token).collect();
        if cause == FailureCause::Permanent {
            self.revoke_all(job, &others, RevokeReason::GivenUp);
        } else if !others.is_empty() {
            return;
        }
        self.settle_fate(job, cause, failed_on, retry_after);
    }

    fn settle_fate(
        &mut self,
        no: JobNo,
        cause: FailureCause,
        failed_on: Option<WorkerNo>,
        retry_after: Option<Micros>,
    ) {
        let job = self.state.expect_job(no);
        let config = &self.state.config;
        let now = self.state.now;
        // Where there is no handler for it, it has not begun.
        let once = job.spec.guarantee == Guarantee::AtMostOnce && cause != FailureCause::NoHandler;
        if once || cause == FailureCause::Permanent {
            self.end_without_result(no, Event::Failed { job: no, cause });
            return;
        }
        // Whatever ended the last offer: a hedge may have used up what was left before.
        let poison = job.counts.crashes >= config.max_crashes;
        #[cfg(feature = "defects")]
        let poison = poison && !self.has(crate::defect::Defect::CountNoCrashes);
        if poison {
            self.bury(no, DeadReason::Poison);
            return;
        }
        if job.counts.failures > job.spec.retries_of_taken() {
            self.escalate_or_bury(no);
            return;
        }
        let (wait, avoid) = match cause {
            FailureCause::WorkerLost => (Micros::ZERO, failed_on),
            FailureCause::NoHandler => (Micros::ZERO, None),
            FailureCause::Undelivered | FailureCause::Returned => {
                if job.counts.returns >= RETURNS_MAX {
                    self.bury(no, DeadReason::RetriesUsedUp);
                    return;
                }
                // Where an offer was not answered, the next one need not be either.
                let avoid = failed_on.filter(|_| cause == FailureCause::Undelivered);
                (retry_after.unwrap_or(Micros::ZERO), avoid)
            }
            FailureCause::Failed
            | FailureCause::TimedOut
            | FailureCause::Stalled
            | FailureCause::Permanent => {
                (retry_after.unwrap_or_else(|| self.backoff(no)), failed_on)
            }
        };
        self.requeue(no, now + wait, avoid);
    }

    fn requeue(&mut self, job: JobNo, not_before: Timestamp, avoid: Option<WorkerNo>) {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::LoseRetry) && job.0 % 7 == 3 {
            let never = self.state.now + Micros::from_secs(1 << 40);
            self.emit(Event::Retried { job, not_before: never, avoid });
            return;
        }
        self.emit(Event::Retried { job, not_before, avoid });
    }

    fn escalate_or_bury(&mut self, no: JobNo) {
        let job = self.state.expect_job(no);
        let escalation = job.spec.extras().escalation.as_ref().filter(|_| job.escalated.is_none());
        let Some(escalation) = escalation.cloned() else {
            self.bury(no, DeadReason::RetriesUsedUp);
            return;
        };
        let priority = escalation.priority.unwrap_or(job.spec.priority);
        self.emit(Event::Escalated { job: no, priority, role: escalation.role });
    }

    fn bury(&mut self, job: JobNo, reason: DeadReason) {
        self.end_without_result(job, Event::DeadLettered { job, reason });
    }

    /// Grows with every failure as configured, up to the cap, then takes off up to half by a hash,
    /// so that jobs that failed together do not come back together.
    fn backoff(&self, no: JobNo) -> Micros {
        let config = &self.state.config;
        let failures = self.state.expect_job(no).counts.failures;
        let times = match config.retry_backoff {
            Backoff::Exponential => 1 << failures.saturating_sub(1).min(32),
            Backoff::Linear => u64::from(failures.max(1)),
            Backoff::Constant => 1,
        };
        let full = config.retry_base.0.saturating_mul(times).min(config.retry_cap.0);
        let jitter = mix(no.0.wrapping_mul(31).wrapping_add(u64::from(failures))) % (full / 2 + 1);
        Micros(full - jitter)
    }

    pub(super) fn revoke_all(&mut self, job: JobNo, tokens: &[Token], reason: RevokeReason) {
        for token in tokens {
            self.emit(Event::Revoked { job, token: *token, reason });
        }
    }

    /// Ends the job by this event and skips what waits for it.
    pub(super) fn end_without_result(&mut self, job: JobNo, end: Event) {
        // Taken before the job ends: a short retention may forget it at once.
        let dependents = self.state.expect_job(job).dependents.clone();
        self.emit(end);
        // A list instead of recursion: a chain may be as long as a run.
        let mut causes = vec![(job, dependents)];
        while let Some((cause, dependents)) = causes.pop() {
            for no in dependents {
                let Some(job) = self.state.job(no) else { continue };
                let waits = matches!(job.state, JobState::Waiting { .. });
                if waits && job.spec.on_failure == OnFailure::Skip {
                    let below = job.dependents.clone();
                    self.emit(Event::Skipped { job: no, because: cause });
                    causes.push((no, below));
                }
            }
        }
    }
}
