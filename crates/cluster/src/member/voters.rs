//! Whose word counts, and what a majority of them is.

use std::collections::{BTreeMap, BTreeSet};

use bellwether_core::model::Micros;

use crate::door::MemberId;

/// While members are exchanged there are two sets, and whatever is to hold needs a majority of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Voters(Vec<BTreeSet<MemberId>>);

impl Voters {
    pub fn new(sets: Vec<BTreeSet<MemberId>>) -> Voters {
        Voters(sets.into_iter().filter(|set| !set.is_empty()).collect())
    }

    pub fn contain(&self, id: MemberId) -> bool {
        self.0.iter().any(|set| set.contains(&id))
    }

    /// How many voters stand before this one.
    pub(super) fn rank(&self, id: MemberId, leader: Option<MemberId>) -> u64 {
        let all: BTreeSet<MemberId> = self.0.iter().flatten().copied().collect();
        // The leader that has fallen silent takes no turn.
        all.into_iter().filter(|voter| *voter < id && Some(*voter) != leader).count() as u64
    }

    pub fn is_majority(&self, of: &BTreeSet<MemberId>) -> bool {
        !self.0.is_empty() && self.0.iter().all(|set| set.intersection(of).count() > set.len() / 2)
    }

    /// The latest moment that a majority, this one included, has confirmed.
    pub(super) fn confirmed(
        &self,
        own: MemberId,
        now: Micros,
        by: &BTreeMap<MemberId, Micros>,
    ) -> Option<Micros> {
        let of_set = |set: &BTreeSet<MemberId>| {
            let moment = |id: &MemberId| if *id == own { Some(now) } else { by.get(id).copied() };
            let mut moments: Vec<Micros> = set.iter().filter_map(moment).collect();
            moments.sort_unstable_by(|a, b| b.cmp(a));
            moments.get(set.len() / 2).copied()
        };
        let confirmed: Option<Vec<Micros>> = self.0.iter().map(of_set).collect();
        confirmed?.into_iter().min()
    }
}
