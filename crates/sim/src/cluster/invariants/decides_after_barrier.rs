//! A leader decides once it knows all that can have been committed before.

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct DecidesAfterBarrier;

impl Invariant for DecidesAfterBarrier {
    fn name(&self) -> &'static str {
        "decides_after_barrier"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Among(Sight::Reigns { member, is_past_known: false, engine, .. }) => {
                let at = engine.last_seq();
                Err(format!("member {member} reigns at {at} before the past is applied"))
            }
            _ => Ok(()),
        }
    }
}
