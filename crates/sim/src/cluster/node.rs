//! A machine: its disk and its clocks, which outlive the process that runs on it.

use bellwether_cluster::MemberId;
use bellwether_core::model::{Config, Micros, Seq, Timestamp};
use bellwether_host::Reading;

use super::disk::Disk;
use super::due::{AmongDue, MemberDue};
use super::log::Members;
use super::network::Network;
use super::process::Process;
use super::replica::Message;
use super::truth::Truth;
use crate::faults::Defect;
use crate::faults::due::Due;
use crate::faults::scheduler::WALL_START;
use crate::faults::stage::Stage;

/// Of a message between machines, in microseconds.
const TRANSIT_MIN: u64 = 100;
const TRANSIT_MAX: u64 = 1_500;
const LATE_MAX: u64 = 120_000;

/// Everything around a machine.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) stage: &'a mut Stage,
    pub(crate) truth: &'a mut Truth,
    pub(crate) network: &'a Network,
    pub(crate) settings: &'a Settings,
    /// A scheduler has begun to reign, so that connections to others are worth nothing.
    pub(crate) has_new_leader: bool,
}

#[derive(Debug)]
pub(crate) struct Settings {
    /// The local file of every machine.
    pub(crate) file: Config,
    pub(crate) defect: Option<Defect>,
    /// Per thousand: a member dies just after it has given its vote.
    pub(crate) dies_after_vote: u32,
    pub(crate) late: u32,
    pub(crate) lost: u32,
}

impl Scene<'_> {
    pub(crate) fn post(&mut self, from: MemberId, to: MemberId, message: Message) {
        let stage = &mut *self.stage;
        if !self.network.carries(from, to) {
            return stage.count("peer_message_cut_off");
        }
        if stage.random.chance(self.settings.lost) {
            return stage.count("peer_message_lost");
        }
        let mut delay = stage.random.between(TRANSIT_MIN, TRANSIT_MAX);
        if stage.random.chance(self.settings.late) {
            stage.count("peer_message_late");
            delay += stage.random.skewed(TRANSIT_MAX, LATE_MAX);
        }
        stage.after(delay, Due::Among(AmongDue::Hears { member: to, from, message }));
    }
}

/// Clocks run on unequally fast, and show different times.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) offset: u64,
    /// Ahead, or behind, in a hundred thousand.
    pub(crate) rate: i64,
    pub(crate) wall_skew: i64,
}

const WHOLE: i64 = 100_000;

impl Clock {
    pub(crate) fn monotonic(&self, now: u64) -> Micros {
        let pace = (WHOLE + self.rate) as u128;
        Micros(self.offset + (u128::from(now) * pace / WHOLE as u128) as u64)
    }

    /// When it will show this.
    fn when(&self, monotonic: Micros) -> u64 {
        let pace = (WHOLE + self.rate) as u128;
        let since = u128::from(monotonic.0.saturating_sub(self.offset));
        (since * WHOLE as u128).div_ceil(pace) as u64
    }

    pub(crate) fn reading(&self, now: u64) -> Reading {
        let wall = Timestamp((WALL_START + now).saturating_add_signed(self.wall_skew));
        Reading { monotonic: self.monotonic(now), wall }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: MemberId,
    /// Counts its processes.
    pub(crate) life: u32,
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) process: Option<Process>,
    /// What came while it was stopped; none if it runs.
    pub(crate) stopped: Option<Vec<AmongDue>>,
    /// It does not come back.
    pub(crate) is_gone: bool,
    /// Its disk was lost.
    pub(crate) was_lost: bool,
    /// How far it has told outside, by its own notes.
    pub(crate) told: Option<Seq>,
}

impl Node {
    pub(crate) fn new(stage: &mut Stage, id: MemberId, members: Members) -> Node {
        let random = &mut stage.random;
        let clock = Clock {
            offset: random.below(1_000_000_000),
            rate: random.between(0, 3_000) as i64 - 1_500,
            wall_skew: random.between(0, 40_000_000) as i64 - 20_000_000,
        };
        let disk = Disk::new(members);
        Node {
            id,
            life: 0,
            disk,
            clock,
            process: None,
            stopped: None,
            is_gone: false,
            was_lost: false,
            told: None,
        }
    }

    pub(crate) fn due(&self, due: MemberDue) -> Due {
        Due::Among(AmongDue::Member { member: self.id, life: self.life, due })
    }

    pub(crate) fn start(&mut self, scene: &mut Scene<'_>) {
        if self.process.is_some() || self.is_gone {
            return;
        }
        scene.stage.count("member_started");
        scene.stage.note(|| format!("member {} starts", self.id));
        self.life += 1;
        let now = self.clock.monotonic(scene.stage.now);
        let process = Process::new(self, scene, now);
        self.process = process;
        self.go_on(scene);
    }

    /// The process is gone, and what its disk had not finished may be.
    pub(crate) fn kill(&mut self, stage: &mut Stage) {
        if self.process.take().is_none() {
            return;
        }
        stage.note(|| format!("member {} dies", self.id));
        self.stopped = None;
        self.disk.crash(&mut stage.random);
        self.life += 1;
    }

    /// Asks to be woken when its member or its host next has something to do.
    pub(crate) fn set_timer(&mut self, scene: &mut Scene<'_>) {
        let Some(process) = &mut self.process else { return };
        let now = scene.stage.now;
        let host = process.desk.host.next_deadline().map(|deadline| {
            let reading = self.clock.reading(now);
            now + deadline.since(process.desk.host.time_at(reading)).0
        });
        let member = self.clock.when(process.member.deadline());
        let at = host.map_or(member, |host| host.min(member)).max(now + 1);
        if process.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            process.wakes_at = Some(at);
            let due = self.due(MemberDue::Wakes);
            scene.stage.after(at - now, due);
        }
    }
}
