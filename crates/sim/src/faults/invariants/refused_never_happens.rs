//! Who is told that nothing was changed can rely on it; else he is told that it is not known.

use std::collections::BTreeMap;

use bellwether_core::model::Seq;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct RefusedNeverHappens {
    /// Where the journal was when each reign began.
    began_at: BTreeMap<u32, Seq>,
}

impl Invariant for RefusedNeverHappens {
    fn name(&self) -> &'static str {
        "refused_never_happens"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Recovered { engine, reign } => {
                self.began_at.entry(*reign).or_insert(engine.last_seq());
                Ok(())
            }
            // A refusal that waited for a lease may come when others have used its position.
            Observation::Refused { command, changed: Some(changed), why, by }
                if !why.is_unknown() && *changed <= self.last_of(*by, view.ledger.last_seq) =>
            {
                Err(format!("{command:?} is refused ({why}) and in the journal at {changed}"))
            }
            _ => Ok(()),
        }
    }
}

impl RefusedNeverHappens {
    /// The last position that may be of this reign.
    fn last_of(&self, reign: u32, last: Seq) -> Seq {
        self.began_at.range(reign + 1..).next().map_or(last, |(_, began_at)| *began_at)
    }
}
