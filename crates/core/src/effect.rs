//! Things to do outside, each released only once the event that caused it is durable.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::event::{Decision, Event};
use crate::model::{
    FailureCause, Handoff, HeldAttempt, JobNo, JobSpec, Name, RevokeReason, Seq, Timestamp, Token,
    WorkerNo,
};
use crate::state::State;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send the job to the worker.
    Offer { worker: WorkerNo, offer: Offer },
    /// Tell the worker that its claim holds: it may start.
    Grant { worker: WorkerNo, attempt: HeldAttempt },
    /// Tell the worker to stop the attempt and forget it.
    Revoke { worker: WorkerNo, attempt: HeldAttempt, reason: RevokeReason },
    /// Tell those who wait for the job that it has ended.
    Ended { job: JobNo },
    /// Tell the worker to finish what it holds and take no more.
    Drain { worker: WorkerNo },
    /// End the worker's session: its key was revoked.
    Dismiss { worker: WorkerNo },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub attempt: HeldAttempt,
    /// From 1; hedges share the number of the offer they back up.
    pub number: u32,
    pub spec: Arc<JobSpec>,
    /// Load this model first.
    pub load_model: Option<Name>,
    pub offered_at: Timestamp,
    /// Who had it before and gave it away, in order: to be verified before it starts.
    pub handoffs: Vec<Handoff>,
}

type Effects = SmallVec<[Effect; 2]>;

/// What an event means for the world outside; `state` is the one before it.
pub(crate) fn effects_of(state: &State, seq: Seq, event: &Event) -> Effects {
    match event {
        Event::Assigned { job, worker, hedge, decision } => {
            smallvec![offer(state, *job, *worker, *hedge, decision, Token::from(seq))]
        }
        Event::Granted { job, token } => {
            on_attempt(state, *job, *token, |worker, attempt| Effect::Grant { worker, attempt })
        }
        Event::AttemptFailed { job, token, cause, .. } => match cause {
            FailureCause::TimedOut | FailureCause::Stalled | FailureCause::Undelivered => {
                let reason = RevokeReason::GivenUp;
                on_attempt(state, *job, *token, |worker, attempt| Effect::Revoke {
                    worker,
                    attempt,
                    reason,
                })
            }
            FailureCause::Failed
            | FailureCause::Permanent
            | FailureCause::Returned
            | FailureCause::NoHandler
            | FailureCause::WorkerLost => Effects::new(),
        },
        Event::Revoked { job, token, reason } => {
            on_attempt(state, *job, *token, |worker, attempt| Effect::Revoke {
                worker,
                attempt,
                reason: *reason,
            })
        }
        Event::HandedOff { job, token, .. } => {
            let reason = RevokeReason::HandedOff;
            on_attempt(state, *job, *token, |worker, attempt| Effect::Revoke {
                worker,
                attempt,
                reason,
            })
        }
        Event::Completed { job, .. }
        | Event::DeadLettered { job, .. }
        | Event::Failed { job, .. }
        | Event::Skipped { job, .. }
        | Event::SkippedByKey { job, .. }
        | Event::Cancelled { job, .. } => smallvec![Effect::Ended { job: *job }],
        Event::WorkerDraining { worker } => smallvec![Effect::Drain { worker: *worker }],
        Event::WorkerKeyRevoked { worker } => {
            let known = state.worker_no(worker.as_str());
            known.map(|worker| Effect::Dismiss { worker }).into_iter().collect()
        }
        Event::Submitted { .. }
        | Event::Started { .. }
        | Event::Progressed { .. }
        | Event::Retried { .. }
        | Event::Due { .. }
        | Event::Escalated { .. }
        | Event::Reopened { .. }
        | Event::Pinned { .. }
        | Event::WorkerJoined { .. }
        | Event::WorkerReturned { .. }
        | Event::WorkerReported { .. }
        | Event::WorkerUndrained { .. }
        | Event::WorkerLost { .. }
        | Event::WorkerLeft { .. }
        | Event::WorkerSilent { .. }
        | Event::WorkerHeard { .. }
        | Event::ModelLoaded { .. }
        | Event::WorkerInvited { .. }
        | Event::WorkerKeyBound { .. }
        | Event::WorkerKeyRotated { .. }
        | Event::Paused { .. }
        | Event::Unpaused { .. }
        | Event::Configured { .. }
        | Event::PredictorFailed { .. }
        | Event::BreakerOpened { .. }
        | Event::BreakerClosed
        | Event::DriftDetected { .. }
        | Event::Warmed { .. }
        | Event::TermsExtended { .. }
        | Event::ActorNamed { .. }
        | Event::Checkpointed { .. }
        | Event::ClockStepped { .. }
        | Event::Noted { .. } => Effects::new(),
    }
}

fn offer(
    state: &State,
    no: JobNo,
    worker: WorkerNo,
    hedge: bool,
    decision: &Decision,
    token: Token,
) -> Effect {
    let job = state.expect_job(no);
    let model = job.spec.requirements.model.clone();
    let offer = Offer {
        attempt: HeldAttempt { job: no, token },
        number: job.attempts + u32::from(!hedge),
        spec: job.spec.clone(),
        load_model: model.filter(|_| decision.load_model),
        offered_at: state.now,
        handoffs: state.handoffs_of(no).to_vec(),
    };
    Effect::Offer { worker, offer }
}

/// The offer that a worker has, once more: it may never have arrived. None if it has not got it.
pub(crate) fn offer_again(state: &State, attempt: HeldAttempt) -> Option<Effect> {
    let job = state.job(attempt.job)?;
    let offered = job.attempt(attempt.token)?;
    let worker = state.worker(offered.worker)?;
    let model = job.spec.requirements.model.clone();
    let offer = Offer {
        attempt,
        number: job.attempts,
        spec: job.spec.clone(),
        load_model: model.filter(|model| !worker.is_warm(model)),
        offered_at: offered.offered_at,
        handoffs: state.handoffs_of(attempt.job).to_vec(),
    };
    Some(Effect::Offer { worker: offered.worker, offer })
}

fn on_attempt(
    state: &State,
    job: JobNo,
    token: Token,
    effect: impl FnOnce(WorkerNo, HeldAttempt) -> Effect,
) -> Effects {
    let worker = state.job(job).and_then(|job| job.attempt(token)).map(|attempt| attempt.worker);
    worker.map(|worker| effect(worker, HeldAttempt { job, token })).into_iter().collect()
}
