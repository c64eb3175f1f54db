//! Positions follow one another without a gap, time does not go back, and a token that a worker
//! has seen never names another attempt.

use std::collections::BTreeMap;

use bellwether_core::Effect;
use bellwether_core::model::{HeldAttempt, Token, WorkerNo};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct TokensIncrease {
    offered: BTreeMap<Token, (HeldAttempt, WorkerNo)>,
}

impl Invariant for TokensIncrease {
    fn name(&self) -> &'static str {
        "tokens_increase"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Committed { entry } => {
                if entry.seq != view.ledger.last_seq.next() {
                    return Err(format!("{} follows {}", entry.seq, view.ledger.last_seq));
                }
                if entry.at < view.ledger.last_at {
                    return Err(format!("time goes back at {}", entry.seq));
                }
                if entry.parent.is_some_and(|parent| parent >= entry.seq) {
                    return Err(format!("{} has its parent ahead", entry.seq));
                }
                Ok(())
            }
            Observation::Released { effect: Effect::Offer { worker, offer }, .. } => {
                let named = (offer.attempt, *worker);
                let first = *self.offered.entry(offer.attempt.token).or_insert(named);
                if first != named {
                    return Err(format!("token of {first:?} is used again for {named:?}"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
