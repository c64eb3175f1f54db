//! Whom clients and workers turn to: they hear from all members who leads, some of it late.

use std::collections::BTreeMap;

use bellwether_cluster::MemberId;

use super::defect::SeatDefect;
use super::node::Node;
use super::sight::Sight;
use crate::faults::Defect;
use crate::faults::court::Observation;
use crate::faults::due::{About, Asker, Letter};
use crate::faults::stage::Stage;

/// Per thousand: what is heard of who leads is old.
const OLD_NEWS: u32 = 300;

#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Where each worker has registered last.
    seats: BTreeMap<usize, MemberId>,
    /// The latest epoch that each worker's process has turned to.
    epochs: BTreeMap<(usize, u64), u32>,
}

impl Routes {
    /// Whom this letter reaches, if anybody.
    pub(crate) fn find(
        &mut self,
        stage: &mut Stage,
        nodes: &BTreeMap<MemberId, Node>,
        defect: Option<Defect>,
        letter: &Letter,
    ) -> Option<MemberId> {
        match letter.from {
            Asker::Client { .. } => self.for_client(stage, nodes),
            Asker::Worker { worker, instance, about: About::Registration { .. } } => {
                self.register(stage, nodes, defect, worker, instance)
            }
            Asker::Worker { worker, .. } => self.seats.get(&worker).copied(),
        }
    }

    fn for_client(&self, stage: &mut Stage, nodes: &BTreeMap<MemberId, Node>) -> Option<MemberId> {
        let leader = leaders(nodes).into_iter().max().map(|(_, id)| id);
        if let Some(leader) = leader
            && !stage.random.chance(OLD_NEWS)
        {
            return Some(leader);
        }
        let all: Vec<MemberId> = nodes.keys().copied().collect();
        Some(*stage.random.pick(&all))
    }

    /// A worker never goes back to an older epoch than it has seen.
    fn register(
        &mut self,
        stage: &mut Stage,
        nodes: &BTreeMap<MemberId, Node>,
        defect: Option<Defect>,
        worker: usize,
        instance: u64,
    ) -> Option<MemberId> {
        let leaders = leaders(nodes);
        let (by, member) = match stage.random.chance(OLD_NEWS) && !leaders.is_empty() {
            true => *stage.random.pick(&leaders),
            false => leaders.into_iter().max()?,
        };
        let seen = self.epochs.entry((worker, instance)).or_default();
        let ignores = defect == Some(Defect::Seat(SeatDefect::WorkerIgnoresEpoch));
        if by < *seen && !ignores {
            stage.count("older_leader_passed_over");
            return None;
        }
        *seen = by.max(*seen);
        self.seats.insert(worker, member);
        stage.see(Observation::Among(Sight::Registers { worker, instance, by }));
        Some(member)
    }
}

/// Everybody who thinks that it leads, with its epoch.
fn leaders(nodes: &BTreeMap<MemberId, Node>) -> Vec<(u32, MemberId)> {
    let by = |node: &Node| node.process.as_ref()?.reign.as_ref().map(|reign| reign.by);
    nodes.iter().filter_map(|(id, node)| Some((by(node)?, *id))).collect()
}
