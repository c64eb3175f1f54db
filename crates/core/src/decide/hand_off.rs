//! A worker gives the attempt that it holds to another worker or role.
//!
//! The edge has verified the signature; here its every field is compared with the facts, so that
//! what was signed for one job, attempt, moment or receiver moves nothing else.

use sha2::{Digest as _, Sha256};

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::limits::HANDOFFS_MAX;
use crate::model::{
    Guarantee, Handoff, HandoffSignature, JobNo, KeyStanding, Receiver, Token, WorkerId, WorkerNo,
};
use crate::rejection::Rejection;

impl Engine {
    /// The worker holds this attempt of the job.
    pub(super) fn hand_off(
        &mut self,
        worker: WorkerNo,
        job: JobNo,
        token: Token,
        handoff: Box<Handoff>,
    ) -> Result<Answer, Rejection> {
        self.check_handoff(worker, job, token, &handoff)?;
        self.revoke_others(job, token);
        self.emit(Event::HandedOff { job, token, handoff });
        Ok(Answer::Done)
    }

    fn check_handoff(
        &self,
        worker: WorkerNo,
        no: JobNo,
        token: Token,
        handoff: &Handoff,
    ) -> Result<(), Rejection> {
        let job = self.state.expect_job(no);
        if job.spec.guarantee == Guarantee::AtMostOnce {
            return Err(Rejection::DispatchedOnce { job: no });
        }
        // The twin of a hedge that has failed for the last time may end the job, and begin no other.
        if job.counts.failures > job.spec.retries_of_taken()
            || job.counts.crashes >= self.state.config.max_crashes
        {
            return Err(Rejection::HandoffSpent { job: no });
        }
        self.check_handed_attempt(no, token, handoff)?;
        self.check_signer(worker, handoff)?;
        self.check_expiry(no, handoff)?;
        self.check_receiver(worker, &handoff.receiver)?;
        if self.state.handoffs_of(no).len() >= HANDOFFS_MAX {
            return Err(Rejection::TooManyHandoffs { job: no, max: HANDOFFS_MAX });
        }
        Ok(())
    }

    /// It was signed for this job as it is now.
    fn check_handed_attempt(
        &self,
        no: JobNo,
        token: Token,
        handoff: &Handoff,
    ) -> Result<(), Rejection> {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::HandsOffAnyJob) {
            return Ok(());
        }
        let spec = &self.state.expect_job(no).spec;
        if handoff.job != spec.id || handoff.token != token {
            let (signed_for, signed_token) = (handoff.job.clone(), handoff.token);
            return Err(Rejection::HandoffElsewhere { job: no, signed_for, signed_token });
        }
        let payload_hash: [u8; 32] = Sha256::digest(&spec.payload).into();
        if handoff.payload_hash != payload_hash {
            return Err(Rejection::OtherPayload { job: no });
        }
        let last = self.state.handoffs_of(no).last();
        if handoff.previous != last.map_or(HandoffSignature::NONE, |last| last.signature) {
            return Err(Rejection::HandoffChain { job: no });
        }
        Ok(())
    }

    fn check_signer(&self, worker: WorkerNo, handoff: &Handoff) -> Result<(), Rejection> {
        let id = self.state.expect_worker(worker).id();
        let bound = self.state.key_of(id.as_str());
        let bound = bound.ok_or_else(|| Rejection::UnknownKey { id: id.clone() })?;
        if bound.standing == KeyStanding::Revoked {
            return Err(Rejection::KeyRevoked { id: id.clone() });
        }
        if bound.key != handoff.key || handoff.from != *id {
            return Err(Rejection::OtherKey { id: id.clone(), key: handoff.key });
        }
        Ok(())
    }

    fn check_expiry(&self, job: JobNo, handoff: &Handoff) -> Result<(), Rejection> {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::IgnoresHandoffExpiry) {
            return Ok(());
        }
        let expires = self.state.wall_ahead.from_the_wall(handoff.expires);
        if expires > self.state.now { Ok(()) } else { Err(Rejection::HandoffExpired { job }) }
    }

    /// One that is not there would let the job wait for ever.
    fn check_receiver(&self, from: WorkerNo, receiver: &Receiver) -> Result<(), Rejection> {
        let Receiver::Worker(id) = receiver else { return Ok(()) };
        let known = self.state.worker_no(id.as_str());
        if known.ok_or_else(|| Rejection::UnknownReceiver { id: id.clone() })? == from {
            return Err(Rejection::HandoffToItself { id: WorkerId::clone(id) });
        }
        let bound = self.state.key_of(id.as_str());
        if bound.is_some_and(|bound| bound.standing == KeyStanding::Revoked) {
            return Err(Rejection::KeyRevoked { id: id.clone() });
        }
        Ok(())
    }
}
