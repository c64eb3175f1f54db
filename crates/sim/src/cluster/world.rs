//! One seed of several schedulers from beginning to end: faults for a while, then calm until every job
//! has ended and all know the same.

use std::collections::BTreeMap;

use bellwether_cluster::MemberId;
use bellwether_core::Engine;
use bellwether_core::model::Config;

use super::due::{AmongDue, MemberDue};
use super::invariants;
use super::log::Members;
use super::network::Network;
use super::node::{Node, Settings};
use super::routes::Routes;
use super::sight::Sight;
use super::truth::Truth;
use crate::faults::chaos;
use crate::faults::client::Clients;
use crate::faults::court::{Court, Observation, Planted};
use crate::faults::due::{Asker, ChaosDue, Due, Letter};
use crate::faults::fleet::Fleet;
use crate::faults::plan;
use crate::faults::random::Random;
use crate::faults::stage::Stage;
use crate::faults::weather::Weather;
use crate::faults::workload::Workload;
use crate::faults::world::Outcome;

/// How long a healed pool may take to end every job, in microseconds.
const HEALED_TIME_MAX: u64 = 1_200_000_000;
/// How long it may take to have a leader.
const LEADER_WITHIN: u64 = 5_000_000;
/// Steps of one seed: a run that takes more goes round in circles.
const STEPS_MAX: u64 = 400_000;
/// How long a worker may take to notice that another leads, in microseconds.
pub(super) const NOTICED_WITHIN: u64 = 400_000;

#[derive(Debug)]
pub(crate) struct World {
    pub(super) stage: Stage,
    pub(super) nodes: BTreeMap<MemberId, Node>,
    pub(super) network: Network,
    pub(super) truth: Truth,
    pub(super) settings: Settings,
    /// Those who began.
    pub(super) first: Members,
    pub(super) strikes_every: u64,
    pub(super) fleet: Fleet,
    clients: Clients,
    routes: Routes,
    healed_at: Option<u64>,
    has_had_time: bool,
}

impl World {
    pub(crate) fn new(seed: u64, planted: Planted, keeps_log: bool) -> World {
        let mut random = Random::new(seed);
        let config = config(&mut random);
        let workers = plan::fleet(&mut random);
        let workload = Workload::new(random.fork(), workers.len()).gentle();
        let weather = weather(&mut random);
        let court = Court::new(invariants::all(&config), planted);
        let mut stage = Stage::new(random, weather, court, workers.len());
        if keeps_log {
            stage.keep_log();
        }
        let first = Members::first(*stage.random.pick(&[3, 3, 3, 4, 5]));
        let mut nodes = BTreeMap::new();
        for id in first.all() {
            nodes.insert(id, Node::new(&mut stage, id, first.clone()));
            let delay = stage.random.between(0, 50_000);
            stage.after(delay, Due::Among(AmongDue::Starts { member: id }));
        }
        let specs = workers.iter().map(|worker| worker.spec.clone()).collect();
        let fleet = Fleet::new(&mut stage, workers);
        let clients = Clients::new(&mut stage, workload, config.clone(), specs);
        let settings = Settings {
            file: config,
            defect: planted.defect,
            dies_after_vote: *stage.random.pick(&[0, 0, 50, 300]),
            late: *stage.random.pick(&[0, 20, 200]),
            lost: *stage.random.pick(&[0, 0, 10, 100]),
        };
        let strikes_every = stage.random.skewed(150_000, 2_000_000);
        stage.after(1_000_000, Due::Among(AmongDue::Strikes));
        if stage.weather.worker_fault_every > 0 {
            stage.after(1_000_000, Due::Chaos(ChaosDue::WorkerFault));
        }
        let faulty_time = stage.random.between(4_000_000, 15_000_000);
        stage.after(faulty_time, Due::Heals);
        World {
            stage,
            nodes,
            network: Network::default(),
            truth: Truth::new(first.clone()),
            settings,
            first,
            strikes_every,
            fleet,
            clients,
            routes: Routes::default(),
            healed_at: None,
            has_had_time: false,
        }
    }

    /// Runs to the end or to the first violation. `on_step` hears how far it is.
    pub(crate) fn run(mut self, on_step: impl Fn(u64)) -> Outcome {
        while self.stage.court.violation().is_none() && !self.is_over() {
            let Some(due) = self.stage.advance() else { break };
            on_step(self.stage.step);
            self.come(due);
        }
        self.finish();
        Outcome {
            violation: self.stage.court.violation().cloned(),
            steps: self.stage.step,
            time: self.stage.now,
            faults: self.stage.take_faults(),
            hashes: [self.stage.court.follower_hash(), self.truth.head.chain.0],
            log: self.stage.take_log(),
        }
    }

    fn finish(&mut self) {
        for node in self.nodes.values().filter(|node| !node.is_gone) {
            let Some(process) = &node.process else { continue };
            let (member, index) = (node.id, process.applied);
            let engine = process.desk.host.engine();
            let members = process.replica.stored.members_at(index);
            let follows = Sight::Follows { member, index, engine, members };
            self.stage.court.see(&Observation::Among(follows));
        }
        let engine = leader_engine(&self.nodes, self.leader());
        self.stage.court.see(&Observation::Finished { engine, disk: None });
    }

    fn is_over(&self) -> bool {
        if self.stage.step > STEPS_MAX {
            return true;
        }
        let Some(healed_at) = self.healed_at else { return false };
        let knows_all = |node: &Node| {
            let process = node.process.as_ref();
            process.is_some_and(|process| process.desk.host.durable() == self.truth.head)
        };
        let is_quiet = |node: &Node| {
            let process = node.process.as_ref();
            process.is_some_and(|process| process.desk.host.is_quiet())
        };
        let ended = self.has_had_time
            && self.stage.court.ledger().live == 0
            && self.clients.are_done()
            && self.nodes.values().all(|node| node.is_gone || (knows_all(node) && is_quiet(node)));
        ended || self.stage.now > healed_at + HEALED_TIME_MAX
    }

    /// Whoever reigns in the latest epoch.
    pub(super) fn leader(&self) -> Option<MemberId> {
        let by = |node: &Node| node.process.as_ref()?.reign.as_ref().map(|reign| reign.by);
        let reigning = self.nodes.values().filter_map(|node| Some((by(node)?, node.id)));
        reigning.max().map(|(_, id)| id)
    }

    fn come(&mut self, due: Due) {
        let Some(due) = self.fleet.come(&mut self.stage, due) else { return };
        match due {
            Due::Arrives(letter) => self.arrives(letter),
            Due::Answered { to: Asker::Client { request }, outcome } => {
                self.clients.answered(&mut self.stage, request, &outcome);
            }
            Due::Client(due) => self.clients.due(&mut self.stage, due),
            Due::Chaos(ChaosDue::WorkerFault) if self.healed_at.is_none() => {
                chaos::strike(&mut self.stage, &mut self.fleet.workers);
            }
            Due::Among(due) => self.among(due),
            Due::Heals => self.heal(),
            // The rest is of a scheduler that is alone, or taken by the fleet.
            _ => {}
        }
    }

    fn arrives(&mut self, letter: Box<Letter>) {
        if self.fleet.is_from_the_dead(letter.from) {
            return;
        }
        let defect = self.settings.defect;
        let Some(member) = self.routes.find(&mut self.stage, &self.nodes, defect, &letter) else {
            return;
        };
        let Some(life) = self.nodes.get(&member).map(|node| node.life) else { return };
        self.among(AmongDue::Member { member, life, due: MemberDue::Reads(letter) });
    }

    fn among(&mut self, due: AmongDue) {
        let Some(due) = self.attend(due) else { return };
        match due {
            AmongDue::Member { member, life, due } => self.with(member, |node, scene| {
                if node.life == life {
                    node.come(scene, due);
                }
            }),
            AmongDue::Hears { member, from, message } => {
                if self.network.carries(from, member) {
                    self.with(member, |node, scene| node.hear(scene, from, message));
                }
            }
            AmongDue::Starts { member } => self.with(member, Node::start),
            AmongDue::Continues { member, life } => self.continue_member(member, life),
            AmongDue::DiskRecovers { member } => {
                if let Some(node) = self.nodes.get_mut(&member) {
                    node.disk.slowness = 1;
                }
            }
            AmongDue::Strikes if self.healed_at.is_none() => self.strike(),
            AmongDue::Strikes => {}
            AmongDue::NetworkHeals { cut } => {
                if cut == self.network.cuts {
                    self.network.heal();
                }
            }
            AmongDue::LongAfterHeal => {
                self.has_had_time = true;
                let leader = self.leader();
                self.stage.see(Observation::Among(Sight::LongAfterHeal { leader }));
            }
        }
    }

    /// Gives back what is due unless it concerns a process that is stopped.
    fn attend(&mut self, due: AmongDue) -> Option<AmongDue> {
        let (AmongDue::Member { member, .. } | AmongDue::Hears { member, .. }) = &due else {
            return Some(due);
        };
        match self.nodes.get_mut(member).and_then(|node| node.stopped.as_mut()) {
            Some(missed) => {
                missed.push(due);
                None
            }
            None => Some(due),
        }
    }

    /// It finds what came meanwhile, in order.
    fn continue_member(&mut self, member: MemberId, life: u32) {
        let Some(node) = self.nodes.get_mut(&member).filter(|node| node.life == life) else {
            return;
        };
        let Some(missed) = node.stopped.take() else { return };
        self.stage.note(|| format!("member {member} goes on; {} things wait", missed.len()));
        missed.into_iter().for_each(|due| self.among(due));
    }

    fn heal(&mut self) {
        self.stage.note(|| "the faults are over".to_owned());
        self.healed_at = Some(self.stage.now);
        let delay_max = self.stage.weather.delay_max;
        self.stage.weather = Weather::calm();
        self.network.heal();
        (self.settings.late, self.settings.lost, self.settings.dies_after_vote) = (0, 0, 0);
        let all: Vec<(MemberId, u32)> =
            self.nodes.values().map(|node| (node.id, node.life)).collect();
        for (member, life) in all {
            if let Some(node) = self.nodes.get_mut(&member) {
                node.disk.slowness = 1;
            }
            self.continue_member(member, life);
            self.with(member, Node::start);
        }
        self.fleet.heal(&mut self.stage);
        self.clients.heal(&mut self.stage, delay_max);
        self.stage.after(LEADER_WITHIN, Due::Among(AmongDue::LongAfterHeal));
    }
}

fn leader_engine(nodes: &BTreeMap<MemberId, Node>, leader: Option<MemberId>) -> Option<&Engine> {
    let process = nodes.get(&leader?)?.process.as_ref()?;
    Some(process.desk.host.engine())
}

/// As for one scheduler, but nothing is forgotten: what is kept outside the journal is not simulated.
fn config(random: &mut Random) -> Config {
    let config = plan::config(random);
    Config { idempotency_max: 1_000_000, retain_jobs: 10_000, ..config }
}

/// Of the ways between schedulers, clients and workers.
fn weather(random: &mut Random) -> Weather {
    let mut some = |max: u64| if random.chance(400) { 0 } else { random.between(1, max) as u32 };
    let (lose, duplicate, delay) = (some(60), some(60), some(80));
    let kill_after_effect = some(40);
    let delay_max = random.skewed(50_000, 2_000_000);
    let worker_fault_every =
        if random.chance(500) { 0 } else { random.between(2_000_000, 10_000_000) };
    let rates = Weather { lose, duplicate, delay, delay_max, ..Weather::calm() };
    Weather { kill_after_effect, worker_fault_every, ..rates }
}
