//! Whoever is told events outside is told all of them, whoever leads.

use bellwether_core::model::Seq;

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct SinksResumeWithoutGap {
    told: Seq,
}

impl Invariant for SinksResumeWithoutGap {
    fn name(&self) -> &'static str {
        "sinks_resume_without_gap"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Among(Sight::Told { member, after, last }) = seen else {
            return Ok(());
        };
        if *after > self.told {
            return Err(format!(
                "member {member} goes on behind {after}; what follows {} was never told",
                self.told
            ));
        }
        self.told = self.told.max(*last);
        Ok(())
    }
}
