//! Nothing is acknowledged, dispatched or shown before it is durable.

use bellwether_core::Effect;
use bellwether_core::model::RevokeReason;

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::Ledger;

#[derive(Debug, Default)]
pub(crate) struct DurableBeforeVisible;

impl Invariant for DurableBeforeVisible {
    fn name(&self) -> &'static str {
        "durable_before_visible"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Answered { command, seq, .. } if *seq > view.ledger.last_seq => Err(
                format!("{command:?} is answered at {seq}, durable to {}", view.ledger.last_seq),
            ),
            Observation::Released { effect, .. } => caused(effect, view.ledger),
            _ => Ok(()),
        }
    }
}

fn caused(effect: &Effect, ledger: &Ledger) -> Result<(), String> {
    let durable = match effect {
        Effect::Offer { offer, .. } => {
            offer.attempt.token.0 <= ledger.last_seq.0
                && ledger.job(offer.attempt.job).is_some_and(|job| job.spec.id == offer.spec.id)
        }
        Effect::Grant { attempt, .. } => ledger.job(attempt.job).is_some_and(|job| {
            // It may have ended since; while it is open it must have been granted.
            job.attempts.iter().all(|open| open.token != attempt.token || open.started)
        }),
        Effect::Revoke { reason: RevokeReason::Unknown, .. } => true,
        Effect::Revoke { attempt, .. } => ledger
            .job(attempt.job)
            .is_some_and(|job| job.attempts.iter().all(|open| open.token != attempt.token)),
        Effect::Ended { job } => {
            ledger.job(*job).is_some_and(|job| job.ending.is_some() || job.ended_once)
        }
        Effect::Drain { worker } | Effect::Dismiss { worker } => ledger.worker(*worker).is_some(),
    };
    if durable { Ok(()) } else { Err(format!("{effect:?} is released, its cause is not durable")) }
}
