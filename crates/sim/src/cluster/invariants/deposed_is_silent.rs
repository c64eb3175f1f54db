//! Once another reigns, nobody is answered in an older epoch and nothing is offered in it.

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct DeposedIsSilent {
    reign: u32,
}

impl Invariant for DeposedIsSilent {
    fn name(&self) -> &'static str {
        "deposed_is_silent"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Among(Sight::Reigns { by, .. }) => {
                self.reign = self.reign.max(*by);
                Ok(())
            }
            Observation::Answered { command, by, .. } if *by < self.reign => {
                Err(format!("epoch {by:x} answers {command:?}; {:x} reigns", self.reign))
            }
            Observation::Sent { to, by } if *by < self.reign => {
                Err(format!("epoch {by:x} speaks to worker {to}; {:x} reigns", self.reign))
            }
            _ => Ok(()),
        }
    }
}
