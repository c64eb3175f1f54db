//! Who is told that nothing was changed can rely on it; else he is told that it is not known.

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct RefusedNeverHappens;

impl Invariant for RefusedNeverHappens {
    fn name(&self) -> &'static str {
        "refused_never_happens"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Refused { command, changed: Some(changed), why, .. }
                if !why.is_unknown() && *changed <= view.ledger.last_seq =>
            {
                Err(format!("{command:?} is refused ({why}) and in the journal at {changed}"))
            }
            _ => Ok(()),
        }
    }
}
