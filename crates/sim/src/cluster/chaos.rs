//! What befalls the schedulers.

use std::sync::Arc;

use bellwether_cluster::MemberId;
use bellwether_journal::state;

use super::defect::LogDefect;
use super::due::AmongDue;
use super::log::{Content, Members, Saved};
use super::node::{Node, Scene};
use super::process::Process;
use super::replica::Message;
use super::world::World;
use crate::faults::Defect;
use crate::faults::due::Due;

/// A learner that is at most so many entries behind may vote.
const LAG_MAX: u64 = 5;
const MEMBERS_MAX: usize = 5;
/// Entries that are kept at least before a state stands for them.
const COMPACT_AFTER: u64 = 6;

impl World {
    pub(super) fn strike(&mut self) {
        match self.stage.random.below(100) {
            0..=14 => self.kill(),
            15..=19 => self.fail_power(),
            20..=37 => self.stop(),
            38..=57 => self.tear_network(),
            58..=64 => self.slow_disk(),
            65..=68 => self.lose_disk(),
            69..=81 => self.change_members(),
            82..=87 => self.transfer(),
            _ => self.compact(),
        }
        let delay = self.stage.random.between(1, 2 * self.strikes_every);
        self.stage.after(delay, Due::Among(AmongDue::Strikes));
    }

    /// The leader, more often than not.
    fn victim(&mut self) -> MemberId {
        let leader = self.leader().filter(|_| self.stage.random.chance(600));
        let all: Vec<MemberId> = self.nodes.keys().copied().collect();
        leader.unwrap_or_else(|| *self.stage.random.pick(&all))
    }

    fn kill(&mut self) {
        let victim = self.victim();
        let Some(node) = self.nodes.get_mut(&victim).filter(|node| node.process.is_some()) else {
            return;
        };
        self.stage.count("member_killed");
        node.kill(&mut self.stage);
        let delay = self.stage.random.skewed(10_000, 4_000_000);
        self.stage.after(delay, Due::Among(AmongDue::Starts { member: victim }));
    }

    /// All die at once, and come back one by one.
    fn fail_power(&mut self) {
        self.stage.count("power_failed");
        for (member, node) in &mut self.nodes {
            node.kill(&mut self.stage);
            let delay = self.stage.random.skewed(10_000, 1_000_000);
            self.stage.after(delay, Due::Among(AmongDue::Starts { member: *member }));
        }
    }

    fn stop(&mut self) {
        let victim = self.victim();
        let Some(node) = self.nodes.get_mut(&victim) else { return };
        if node.process.is_none() || node.stopped.is_some() {
            return;
        }
        self.stage.count("member_stopped");
        self.stage.note(|| format!("member {victim} is stopped"));
        node.stopped = Some(Vec::new());
        let life = node.life;
        let delay = self.stage.random.skewed(50_000, 4_000_000);
        self.stage.after(delay, Due::Among(AmongDue::Continues { member: victim, life }));
    }

    fn tear_network(&mut self) {
        let leader = self.leader();
        let all: Vec<MemberId> = self.nodes.keys().copied().collect();
        let kind = self.network.tear(&mut self.stage.random, &all, leader);
        self.stage.count(kind);
        self.stage.note(|| format!("{kind}: {:?}", self.network));
        let delay = self.stage.random.skewed(100_000, 4_000_000);
        let cut = self.network.cuts;
        self.stage.after(delay, Due::Among(AmongDue::NetworkHeals { cut }));
    }

    fn slow_disk(&mut self) {
        let victim = self.victim();
        let Some(node) = self.nodes.get_mut(&victim) else { return };
        self.stage.count("disk_slow");
        node.disk.slowness = self.stage.random.skewed(5, 80);
        let delay = self.stage.random.skewed(100_000, 3_000_000);
        self.stage.after(delay, Due::Among(AmongDue::DiskRecovers { member: victim }));
    }

    /// A machine is lost with its disk, unless too few would be left. It may be replaced by another,
    /// under another number.
    fn lose_disk(&mut self) {
        let victim = self.victim();
        let is_lost = |id: &&MemberId| {
            **id == victim || self.nodes.get(*id).is_none_or(|node| node.is_gone || node.was_lost)
        };
        // A change of members may be under way, and any of them may come true.
        let of_node = |node: &Node| {
            let process = node.process.as_ref();
            let stored = process.map_or(node.disk.stored(), |process| &process.replica.stored);
            Members::clone(stored.members())
        };
        let known = self.nodes.values().filter(|node| !node.is_gone).map(of_node);
        let too_few = |members: Members| {
            2 * members.voters.iter().filter(is_lost).count() >= members.voters.len()
        };
        if known.chain([self.truth.members.clone()]).any(too_few) {
            return;
        }
        let first = self.first.clone();
        let reused = self.settings.defect == Some(Defect::Log(LogDefect::NumberReused));
        let Some(node) = self.nodes.get_mut(&victim).filter(|node| !node.is_gone) else { return };
        self.stage.count("disk_lost");
        node.kill(&mut self.stage);
        node.disk.wipe(first);
        node.was_lost = true;
        node.is_gone = !reused;
        let delay = self.stage.random.skewed(10_000, 1_000_000);
        self.stage.after(delay, Due::Among(AmongDue::Starts { member: victim }));
    }

    /// Somebody adds, admits or removes a member, at the leader, one at a time.
    fn change_members(&mut self) {
        let Some(leader) = self.leader() else { return };
        let draw = self.stage.random.next();
        let gone: Vec<MemberId> =
            self.nodes.values().filter(|node| node.is_gone).map(|node| node.id).collect();
        let Some(process) = self.nodes.get(&leader).and_then(|node| node.process.as_ref()) else {
            return;
        };
        let Some(changed) = change(process, leader, &gone, draw) else { return };
        if changed.last > process.replica.stored.members().last {
            self.stage.count("member_added");
            let node = Node::new(&mut self.stage, changed.last, self.first.clone());
            self.nodes.insert(changed.last, node);
            let delay = self.stage.random.skewed(1_000, 300_000);
            self.stage.after(delay, Due::Among(AmongDue::Starts { member: changed.last }));
        } else {
            self.stage.count("members_changed");
        }
        self.stage.note(|| format!("the members are to be {changed:?}"));
        self.with(leader, |node, scene| {
            let now = node.clock.monotonic(scene.stage.now);
            if let Some(process) = &mut node.process {
                process.replica.propose(Content::Members(Arc::new(changed)));
                process.replica.send_all(now);
            }
            node.go_on(scene);
        });
    }

    /// The leader hands over to whoever has most of the log.
    fn transfer(&mut self) {
        let Some(leader) = self.leader() else { return };
        self.stage.count("leadership_transferred");
        self.with(leader, |node, scene| {
            let now = node.clock.monotonic(scene.stage.now);
            let Some(Process { member, replica, .. }) = &mut node.process else { return };
            let Some(epoch) = member.leading() else { return };
            let voters = replica.stored.members().voters.clone();
            let others = voters.into_iter().filter(|id| *id != node.id);
            let best = others.min_by_key(|id| replica.lag(*id).unwrap_or(u64::MAX));
            if let Some(best) = best {
                scene.post(node.id, best, Message::Succeed { epoch });
            }
            member.handle_resigned(now);
            node.go_on(scene);
        });
    }

    /// A state stands for the beginning of somebody's log.
    fn compact(&mut self) {
        let all: Vec<MemberId> = self.nodes.keys().copied().collect();
        let some = *self.stage.random.pick(&all);
        self.with(some, |node, scene| {
            let Some(process) = &mut node.process else { return };
            let Some(saved) = saved(process) else { return };
            scene.stage.count("log_compacted");
            process.replica.compact(saved);
            node.go_on(scene);
        });
    }

    /// Lets a machine act, if it is there and runs.
    pub(super) fn with(&mut self, id: MemberId, act: impl FnOnce(&mut Node, &mut Scene<'_>)) {
        let Some(mut node) = self.nodes.remove(&id) else { return };
        let mut scene = Scene {
            stage: &mut self.stage,
            truth: &mut self.truth,
            network: &self.network,
            settings: &self.settings,
            has_new_leader: false,
        };
        let life = node.life;
        act(&mut node, &mut scene);
        let (has_new_leader, died) = (scene.has_new_leader, node.life > life + 1);
        let died = died || (node.life > life && node.process.is_none());
        self.nodes.insert(id, node);
        if has_new_leader {
            self.fleet.break_connections(&mut self.stage, super::world::NOTICED_WITHIN);
        }
        if died {
            let delay = self.stage.random.skewed(10_000, 400_000);
            self.stage.after(delay, Due::Among(AmongDue::Starts { member: id }));
        }
        self.dismiss();
    }

    /// Those who no longer belong to the pool are switched off.
    fn dismiss(&mut self) {
        let members = &self.truth.members;
        let left = |node: &&mut Node| node.id <= members.last && !members.contain(node.id);
        for node in self.nodes.values_mut().filter(left).filter(|node| !node.is_gone) {
            node.kill(&mut self.stage);
            node.is_gone = true;
            self.stage.count("member_removed");
        }
    }
}

/// The next members, if they may change now.
fn change(process: &Process, leader: MemberId, gone: &[MemberId], draw: u64) -> Option<Members> {
    let replica = &process.replica;
    let (_, barrier) = replica.leads()?;
    let known = replica.stored.members();
    let is_settled = **replica.stored.members_at(replica.commit) == **known;
    if process.applied < barrier || !is_settled {
        return None;
    }
    let mut members = Members::clone(known);
    let caught_up = |id: &&MemberId| replica.lag(**id).is_some_and(|lag| lag <= LAG_MAX);
    // One that has died since would be missed in every majority.
    let ready = known.learners.iter().filter(|id| !gone.contains(id)).find(caught_up).copied();
    let missing = known.voters.iter().find(|id| gone.contains(id)).copied();
    if let Some(ready) = ready {
        members.learners.remove(&ready);
        members.voters.insert(ready);
        return Some(members);
    }
    if let Some(missing) = missing.filter(|_| draw.is_multiple_of(2)) {
        members.voters.remove(&missing);
        return Some(members);
    }
    if known.voters.len() > 3 && missing.is_none() && draw.is_multiple_of(3) {
        let others: Vec<_> = known.voters.iter().copied().filter(|id| *id != leader).collect();
        members.voters.remove(&others[draw as usize % others.len()]);
        return Some(members);
    }
    if known.all().count() < MEMBERS_MAX {
        members.last = MemberId(known.last.0 + 1);
        members.learners.insert(members.last);
        return Some(members);
    }
    None
}

/// What a process knows, if that is the state of one position.
fn saved(process: &Process) -> Option<Saved> {
    let stored = &process.replica.stored;
    let host = &process.desk.host;
    let is_still = host.is_durable() && host.durable() == process.head;
    if !is_still || process.applied < stored.saved.at.index + COMPACT_AFTER {
        return None;
    }
    Some(Saved {
        at: stored.place(process.applied)?,
        head: process.head,
        members: Arc::clone(stored.members_at(process.applied)),
        state: Some(state::encode(host.state()).into()),
    })
}
