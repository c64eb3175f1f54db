//! Of one term there is one leader, so there is one who can commit in it.

use std::collections::BTreeMap;

use bellwether_cluster::MemberId;

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct OneCommitterPerEpoch {
    leaders: BTreeMap<u64, MemberId>,
}

impl Invariant for OneCommitterPerEpoch {
    fn name(&self) -> &'static str {
        "one_committer_per_epoch"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Among(Sight::Elected { member, term }) = seen else {
            return Ok(());
        };
        match self.leaders.insert(*term, *member) {
            Some(other) if other != *member => {
                Err(format!("members {other} and {member} both lead in term {term}"))
            }
            _ => Ok(()),
        }
    }
}
