//! A job as the registry keeps it.

use std::sync::Arc;

use bellwether_core::model::{
    FailureCause, JobNo, JobSpec, RevokeReason, RunId, Seq, Timestamp, Token,
};
use bellwether_wire::{Mirror as _, v1};

/// A job that nothing has happened to yet: small, because there may be a great many.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    pub(super) spec: Arc<JobSpec>,
    pub(super) run: Option<RunId>,
    pub(super) seq: Seq,
    pub(super) at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    /// All that is not in the spec; `spec` is empty.
    pub(super) job: v1::Job,
    /// The worker of the latest attempt.
    pub(super) worker: String,
    /// What was submitted, until it is written.
    pub(super) unwritten_spec: Option<Arc<JobSpec>>,
    /// Differs from what is in the file.
    pub(super) changed: bool,
}

impl Row {
    pub(super) fn of(no: JobNo, fresh: &Fresh) -> Row {
        let spec = &fresh.spec;
        let state = if spec.not_before > fresh.at {
            v1::JobState::Delayed
        } else if spec.dependencies.is_empty() {
            v1::JobState::Ready
        } else {
            v1::JobState::Waiting
        };
        let job = v1::Job {
            job: no.0,
            state: state as i32,
            run_id: fresh.run.as_ref().map_or_else(String::new, RunId::to_string),
            submitted_at: fresh.at.0,
            position: fresh.seq.0,
            ..Default::default()
        };
        let unwritten_spec = Some(spec.clone());
        Row { job, worker: String::new(), unwritten_spec, changed: true }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.job.ended_at > 0
    }

    pub(super) fn assigned(&mut self, attempt: v1::AttemptView) {
        self.worker.clone_from(&attempt.worker);
        self.job.attempts.push(attempt);
        if self.job.state() != v1::JobState::Running {
            self.job.set_state(v1::JobState::Offered);
        }
    }

    pub(super) fn started(&mut self, token: Token, at: Timestamp) {
        if let Some(attempt) = self.attempt(token)
            && attempt.started_at == 0
        {
            attempt.started_at = at.0;
            attempt.set_state(v1::AttemptState::Running);
        }
        self.job.set_state(v1::JobState::Running);
        if self.job.started_at == 0 {
            self.job.started_at = at.0;
        }
    }

    pub(super) fn attempt_ended(&mut self, token: Token, how: v1::AttemptState, at: Timestamp) {
        if let Some(attempt) = self.attempt(token) {
            attempt.set_state(how);
            attempt.ended_at = at.0;
            if attempt.started_at == 0 && how == v1::AttemptState::Completed {
                attempt.started_at = attempt.offered_at;
            }
        }
    }

    pub(super) fn attempt_failed(
        &mut self,
        token: Token,
        cause: FailureCause,
        error: &str,
        at: Timestamp,
    ) {
        self.attempt_ended(token, v1::AttemptState::Failed, at);
        if let Some(attempt) = self.attempt(token) {
            attempt.cause = cause.to_wire();
            attempt.error = error.to_owned();
        }
        match cause {
            FailureCause::Failed | FailureCause::TimedOut | FailureCause::Stalled => {
                self.job.failures += 1;
            }
            FailureCause::WorkerLost => self.job.crashes += 1,
            FailureCause::Undelivered | FailureCause::Returned | FailureCause::Permanent => {}
        }
        let active = |attempt: &v1::AttemptView| attempt.ended_at == 0;
        if !self.job.attempts.iter().any(active) {
            self.job.set_state(v1::JobState::Ready);
        }
    }

    pub(super) fn attempt_revoked(&mut self, token: Token, reason: RevokeReason, at: Timestamp) {
        self.attempt_ended(token, v1::AttemptState::Revoked, at);
        if let Some(attempt) = self.attempt(token) {
            attempt.revoked = reason.to_wire();
        }
    }

    pub(super) fn ended(&mut self, state: v1::JobState, explanation: String, at: Timestamp) {
        self.job.set_state(state);
        self.job.explanation = explanation;
        self.job.ended_at = at.0.max(1);
    }

    pub(super) fn reopened(&mut self) {
        self.job.set_state(v1::JobState::Ready);
        self.job.explanation.clear();
        self.job.ended_at = 0;
        self.job.failures = 0;
        self.job.crashes = 0;
    }

    fn attempt(&mut self, token: Token) -> Option<&mut v1::AttemptView> {
        self.job.attempts.iter_mut().rev().find(|attempt| attempt.token == token.0)
    }
}
