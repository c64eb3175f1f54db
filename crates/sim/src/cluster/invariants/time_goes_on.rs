//! A new leader goes on from the time that the journal has reached.

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct TimeGoesOn;

impl Invariant for TimeGoesOn {
    fn name(&self) -> &'static str {
        "time_goes_on"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Among(Sight::Reigns { member, now, .. }) if *now < view.ledger.last_at => {
                let last = view.ledger.last_at;
                Err(format!("member {member} begins at {now:?}, the journal was at {last:?}"))
            }
            _ => Ok(()),
        }
    }
}
