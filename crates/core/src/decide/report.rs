//! What workers say of their attempts. Every report is fenced by the attempt's token.

use super::bounded;
use crate::command::{Answer, Report};
use crate::effect::Effect;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{
    Attempt, FailureCause, Guarantee, HeldAttempt, JobNo, Micros, Phase, RevokeReason, Token,
    WorkerId, WorkerNo,
};
use crate::rejection::Rejection;
use crate::state::JobState;

impl Engine {
    pub(crate) fn report(
        &mut self,
        worker: &WorkerId,
        attempt: HeldAttempt,
        report: Report,
    ) -> Result<Answer, Rejection> {
        let no = self.find_worker(worker)?;
        self.heard_of(no);
        self.has_spoken(no);
        let HeldAttempt { job, token } = attempt;
        let found = self.fenced(no, job, token);
        let Some(found) = found else { return self.stale(worker, attempt, &report) };
        let started = matches!(found.phase, Phase::Running { .. });
        match report {
            Report::Acknowledge => self.acknowledge(job, token, started),
            Report::Claim => self.claim(no, job, token, started),
            Report::Progress { permille, note } => {
                self.needs_start(job, started)?;
                if !started {
                    self.acknowledge(job, token, started)?;
                }
                let (permille, note) = (permille.min(1_000), bounded(note));
                self.emit(Event::Progressed { job, token, permille, note });
                Ok(Answer::Done)
            }
            Report::Complete { result } => {
                self.needs_start(job, started)?;
                self.revoke_others(job, token);
                let result_hash = *blake3::hash(&result).as_bytes();
                self.emit(Event::Completed { job, token, result, result_hash });
                Ok(Answer::Done)
            }
            Report::Fail { cause, error, retry_after } => {
                let cause = reportable(cause, started);
                self.fail_attempt(job, token, cause, error, retry_after);
                Ok(Answer::Done)
            }
            Report::HandOff(handoff) => self.hand_off(no, job, token, handoff),
        }
    }

    /// The attempt that this worker holds under this token, if it does.
    fn fenced(&self, worker: WorkerNo, job: JobNo, token: Token) -> Option<Attempt> {
        let job = self.state.job(job)?;
        let found = job.attempt(token).filter(|attempt| attempt.worker == worker);
        #[cfg(feature = "defects")]
        if found.is_none() && self.has(crate::defect::Defect::SkipFence) {
            return job.offers().first().cloned();
        }
        found.cloned()
    }

    /// A late report changes nothing; a result that is known already is as good as taken.
    fn stale(
        &mut self,
        worker: &WorkerId,
        attempt: HeldAttempt,
        report: &Report,
    ) -> Result<Answer, Rejection> {
        let HeldAttempt { job, token } = attempt;
        if let Report::Complete { result } = report
            && let Some(known) = self.state.job(job)
        {
            #[cfg(feature = "defects")]
            if self.has(crate::defect::Defect::ReopenOnLateResult)
                && known.state.has_ended()
                && !matches!(known.state, JobState::Completed { .. })
            {
                let result_hash = *blake3::hash(result).as_bytes();
                self.emit(Event::Reopened { job });
                self.emit(Event::Completed { job, token, result: result.clone(), result_hash });
                return Ok(Answer::Done);
            }
            if let JobState::Completed { result_hash, .. } = &known.state {
                if blake3::hash(result) == *result_hash {
                    return Ok(Answer::AlreadyCompleted);
                }
                if known.spec.guarantee == Guarantee::ExactlyOnce {
                    return Err(Rejection::OtherResult { job });
                }
            }
        }
        Err(Rejection::StaleToken { worker: worker.clone(), job, token })
    }

    fn acknowledge(
        &mut self,
        job: JobNo,
        token: Token,
        started: bool,
    ) -> Result<Answer, Rejection> {
        if started {
            return Ok(Answer::Done);
        }
        if self.state.expect_job(job).spec.guarantee == Guarantee::ExactlyOnce {
            return Err(Rejection::ClaimFirst { job });
        }
        self.revoke_others(job, token);
        self.emit(Event::Started { job, token });
        Ok(Answer::Done)
    }

    fn claim(
        &mut self,
        worker: WorkerNo,
        job: JobNo,
        token: Token,
        started: bool,
    ) -> Result<Answer, Rejection> {
        if self.state.expect_job(job).spec.guarantee != Guarantee::ExactlyOnce {
            return Err(Rejection::NotClaimable { job });
        }
        if started {
            // The grant got lost: say it again.
            self.repeat(Effect::Grant { worker, attempt: HeldAttempt { job, token } });
            return Ok(Answer::Done);
        }
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::SecondGrant) {
            self.emit(Event::Granted { job, token });
            return Ok(Answer::Done);
        }
        self.revoke_others(job, token);
        self.emit(Event::Granted { job, token });
        Ok(Answer::Done)
    }

    /// An exactly_once job that has no grant cannot have been started.
    fn needs_start(&self, job: JobNo, started: bool) -> Result<(), Rejection> {
        let claims = self.state.expect_job(job).spec.guarantee == Guarantee::ExactlyOnce;
        if claims && !started { Err(Rejection::ClaimFirst { job }) } else { Ok(()) }
    }

    /// The first to start or finish wins against its hedge.
    pub(super) fn revoke_others(&mut self, job: JobNo, winner: Token) {
        let offers = self.state.expect_job(job).offers();
        if offers.len() < 2 {
            return;
        }
        let losers: Vec<Token> =
            offers.iter().map(|a| a.token).filter(|token| *token != winner).collect();
        self.revoke_all(job, &losers, RevokeReason::HedgeLost);
    }

    pub(crate) fn model_loaded(
        &mut self,
        worker: &WorkerId,
        model: crate::model::Name,
        took: Micros,
    ) -> Result<Answer, Rejection> {
        let no = self.find_worker(worker)?;
        self.heard_of(no);
        self.has_spoken(no);
        if !self.state.expect_worker(no).is_warm(&model) {
            self.emit(Event::ModelLoaded { worker: no, model, took });
        }
        Ok(Answer::Done)
    }
}

/// Only the supervisor may say that a worker was lost or an attempt late; and what has started
/// cannot be given back as if it had not.
fn reportable(cause: FailureCause, started: bool) -> FailureCause {
    match cause {
        FailureCause::Permanent | FailureCause::Returned | FailureCause::NoHandler => cause,
        FailureCause::Undelivered if !started => FailureCause::Returned,
        FailureCause::Failed
        | FailureCause::TimedOut
        | FailureCause::Stalled
        | FailureCause::WorkerLost
        | FailureCause::Undelivered => FailureCause::Failed,
    }
}
