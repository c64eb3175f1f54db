//! What one member took for committed is what every other takes for committed at the same place.

use std::collections::BTreeMap;

use bellwether_cluster::MemberId;

use crate::cluster::log::Mark;
use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct CommittedIsKept {
    marks: BTreeMap<u64, (MemberId, Mark)>,
}

impl Invariant for CommittedIsKept {
    fn name(&self) -> &'static str {
        "committed_is_kept"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Among(Sight::TakenForCommitted { member, index, mark }) = seen else {
            return Ok(());
        };
        let (first, known) = *self.marks.entry(*index).or_insert((*member, *mark));
        if known != *mark {
            return Err(format!(
                "entry {index} is {known:?} for member {first} and {mark:?} for member {member}"
            ));
        }
        Ok(())
    }
}
