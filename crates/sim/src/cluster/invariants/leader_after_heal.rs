//! A few seconds after the faults are over, somebody leads.

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct LeaderAfterHeal;

impl Invariant for LeaderAfterHeal {
    fn name(&self) -> &'static str {
        "leader_after_heal"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Among(Sight::LongAfterHeal { leader: None }) => {
                Err("nobody leads although the faults are over".to_owned())
            }
            _ => Ok(()),
        }
    }
}
