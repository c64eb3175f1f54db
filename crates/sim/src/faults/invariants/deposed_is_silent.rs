//! A scheduler whose journal another has taken tells nobody anything: another may have changed it.

use bellwether_core::model::Seq;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct DeposedIsSilent {
    /// The latest reign, and where the journal was when it began.
    reign: u32,
    began_at: Seq,
}

impl Invariant for DeposedIsSilent {
    fn name(&self) -> &'static str {
        "deposed_is_silent"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Recovered { engine, reign } if *reign > self.reign => {
                (self.reign, self.began_at) = (*reign, engine.last_seq());
                Ok(())
            }
            Observation::Answered { command, seq, by, .. } if *by < self.reign => {
                let (reign, at) = (self.reign, self.began_at);
                Err(format!("{by} answers {command:?} at {seq}; {reign} has reigned from {at}"))
            }
            Observation::Released { effect, by } if *by < self.reign => {
                Err(format!("{by} lets {effect:?} go; {} reigns", self.reign))
            }
            _ => Ok(()),
        }
    }
}
