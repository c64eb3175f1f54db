//! Who reaches whom among the schedulers.

use std::collections::BTreeSet;

use bellwether_cluster::MemberId;

use crate::faults::random::Random;

#[derive(Debug, Default)]
pub(crate) struct Network {
    /// From the first to the second nothing gets through.
    cut: BTreeSet<(MemberId, MemberId)>,
    /// How often it was cut; the latest counts.
    pub(crate) cuts: u64,
}

impl Network {
    pub(crate) fn carries(&self, from: MemberId, to: MemberId) -> bool {
        !self.cut.contains(&(from, to))
    }

    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    /// Cuts it in one of the ways that networks have, and says which.
    pub(crate) fn tear(
        &mut self,
        random: &mut Random,
        members: &[MemberId],
        leader: Option<MemberId>,
    ) -> &'static str {
        self.cut.clear();
        self.cuts += 1;
        let alone = leader.filter(|_| random.chance(600));
        let alone = alone.unwrap_or_else(|| *random.pick(members));
        let (one, others): (Vec<_>, Vec<_>) = match random.chance(600) {
            true => members.iter().partition(|id| **id == alone),
            false => members.iter().partition(|_| random.chance(500)),
        };
        match random.below(4) {
            0 => {
                self.sever(&one, &others);
                "partition_one_way"
            }
            1 => {
                self.sever(&others, &one);
                "partition_one_way"
            }
            2 if members.len() > 2 => {
                // One member still reaches both sides.
                let bridge = *random.pick(members);
                let without = |side: &[MemberId]| -> Vec<MemberId> {
                    side.iter().copied().filter(|id| *id != bridge).collect()
                };
                let (one, others) = (without(&one), without(&others));
                self.sever(&one, &others);
                self.sever(&others, &one);
                "partition_bridged"
            }
            _ => {
                self.sever(&one, &others);
                self.sever(&others, &one);
                "partition_full"
            }
        }
    }

    fn sever(&mut self, from: &[MemberId], to: &[MemberId]) {
        self.cut.extend(from.iter().flat_map(|a| to.iter().map(|b| (*a, *b))));
    }
}
