//! A queue is read by the one who reigns in the latest epoch, and by nobody else.

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct OneReaderPerQueue {
    reign: u32,
}

impl Invariant for OneReaderPerQueue {
    fn name(&self) -> &'static str {
        "one_reader_per_queue"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Among(Sight::Reigns { by, .. }) => {
                self.reign = self.reign.max(*by);
                Ok(())
            }
            Observation::Among(Sight::Read { member, by }) if *by != Some(self.reign) => {
                Err(format!("member {member} reads the queue in {by:?}; {:x} reigns", self.reign))
            }
            _ => Ok(()),
        }
    }
}
