//! What was decided is carried out: every offer, grant, revoke and end leaves the scheduler that
//! made it durable, unless that scheduler dies first.

use std::collections::BTreeSet;

use bellwether_core::model::{JobNo, Token};
use bellwether_core::{Effect, Event};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owed {
    Offer(JobNo, Token),
    Grant(JobNo, Token),
    Revoke(JobNo, Token),
    Ended(JobNo),
}

#[derive(Debug, Default)]
pub(crate) struct EffectsFollowEvents {
    owed: BTreeSet<Owed>,
}

impl Invariant for EffectsFollowEvents {
    fn name(&self) -> &'static str {
        "effects_follow_events"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Committed { entry } => {
                self.owed.extend(owed_for(&entry.event, Token::from(entry.seq)));
                Ok(())
            }
            Observation::Released { effect, .. } => {
                if let Some(owed) = settled_by(effect) {
                    self.owed.remove(&owed);
                }
                Ok(())
            }
            // What the old process had not said, nobody says: reconnecting workers find out.
            Observation::Recovered { .. } => {
                self.owed.clear();
                Ok(())
            }
            Observation::Quiet { .. } => match self.owed.first() {
                Some(owed) => Err(format!("{owed:?} was decided and never carried out")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn owed_for(event: &Event, token: Token) -> Option<Owed> {
    match event {
        Event::Assigned { job, .. } => Some(Owed::Offer(*job, token)),
        Event::Granted { job, token } => Some(Owed::Grant(*job, *token)),
        Event::Revoked { job, token, .. } | Event::HandedOff { job, token, .. } => {
            Some(Owed::Revoke(*job, *token))
        }
        Event::Completed { job, .. }
        | Event::DeadLettered { job, .. }
        | Event::Failed { job, .. }
        | Event::Skipped { job, .. }
        | Event::SkippedByKey { job, .. }
        | Event::Cancelled { job, .. } => Some(Owed::Ended(*job)),
        _ => None,
    }
}

fn settled_by(effect: &Effect) -> Option<Owed> {
    match effect {
        Effect::Offer { offer, .. } => Some(Owed::Offer(offer.attempt.job, offer.attempt.token)),
        Effect::Grant { attempt, .. } => Some(Owed::Grant(attempt.job, attempt.token)),
        Effect::Revoke { attempt, .. } => Some(Owed::Revoke(attempt.job, attempt.token)),
        Effect::Ended { job } => Some(Owed::Ended(*job)),
        Effect::Drain { .. } | Effect::Dismiss { .. } => None,
    }
}
