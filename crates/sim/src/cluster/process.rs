//! A scheduler's process: the real member and the real host, around the model of the log.

use std::collections::VecDeque;

use bellwether_cluster::MemberId;
use bellwether_cluster::member::{Act, Member, Round, Timing};
use bellwether_core::model::{Epoch, Micros};
use bellwether_host::{Host, SnapshotRule, restore};
use bellwether_journal::{Head, Snapshot};

use super::due::MemberDue;
use super::log::{Content, Saved};
use super::node::{Node, Scene};
use super::reign::Reign;
use super::replica::{After, Message, Out, Replica};
use super::sight::Sight;
use crate::faults::Defect;
use crate::faults::court::Observation;
use crate::faults::due::Letter;
use crate::faults::scheduler::{Desk, Sessions, Witness};

/// Until what is committed reaches the host, in microseconds.
const NEWS_MIN: u64 = 50;
const NEWS_MAX: u64 = 3_000;

/// What a crash loses.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) member: Member,
    pub(crate) replica: Replica,
    pub(crate) desk: Desk,
    pub(crate) accession: Option<Accession>,
    pub(crate) reign: Option<Reign>,
    /// What the log has given out.
    pub(crate) applied: u64,
    pub(crate) head: Head,
    after_sync: VecDeque<(u64, After)>,
    /// Something on its way to the host.
    pub(crate) has_news: bool,
    pub(crate) wakes_at: Option<u64>,
}

/// The right to begin a reign.
#[derive(Debug)]
pub(crate) struct Accession {
    pub(crate) epoch: Epoch,
    pub(crate) lease_ends: Micros,
    is_ready: bool,
}

impl Accession {
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }
}

pub(crate) fn epoch_of(term: u64, by: MemberId) -> Epoch {
    Epoch(term << 16 | u64::from(by.0))
}

pub(crate) fn snapshot_of(saved: &Saved) -> Option<Snapshot> {
    Some(Snapshot { head: saved.head, bytes: saved.state.clone()? })
}

impl Process {
    pub(crate) fn new(node: &Node, scene: &mut Scene<'_>, now: Micros) -> Option<Process> {
        let stored = node.disk.stored().clone();
        let saved = stored.saved.clone();
        let engine = match restore(snapshot_of(&saved).as_ref()) {
            Ok(engine) => engine,
            Err(error) => {
                let why = error.to_string();
                scene.stage.see(Observation::Unreadable { why: &why });
                return None;
            }
        };
        let seed = scene.stage.random.next();
        let mut member = Member::new(node.id, seed, Timing::default(), now);
        let rule = SnapshotRule::every(u64::MAX);
        let mut host = Host::new(engine, saved.head, saved.head.seq, rule);
        let mut log_defect = None;
        match scene.settings.defect {
            Some(Defect::Member(defect)) => member.plant(defect),
            Some(Defect::Host(defect)) => host.plant(defect),
            Some(Defect::Log(defect)) => log_defect = Some(defect),
            _ => {}
        }
        Some(Process {
            member,
            replica: Replica::new(node.id, stored, log_defect),
            desk: Desk { host, twin: None, reign: 0, sessions: Sessions::default() },
            accession: None,
            reign: None,
            applied: saved.at.index,
            head: saved.head,
            after_sync: VecDeque::new(),
            has_news: false,
            wakes_at: None,
        })
    }
}

impl Node {
    /// What is due to the process that runs, if it does.
    pub(crate) fn come(&mut self, scene: &mut Scene<'_>, due: MemberDue) {
        if self.process.is_none() {
            return;
        }
        match due {
            MemberDue::Reads(letter) => self.read(scene, *letter),
            MemberDue::Synced { write } => {
                self.disk.synced(write);
                self.after_sync(write);
            }
            MemberDue::TakesIn => self.take_in(scene),
            MemberDue::Wakes => self.wake(scene),
        }
        self.go_on(scene);
    }

    fn read(&mut self, scene: &mut Scene<'_>, letter: Letter) {
        self.begin_round(scene);
        let Some(process) = &mut self.process else { return };
        if process.desk.host.must_wait() {
            return process.desk.host.defer(letter);
        }
        process.desk.take(scene.stage, letter);
    }

    fn wake(&mut self, scene: &mut Scene<'_>) {
        let now = scene.stage.now;
        let Some(process) = &mut self.process else { return };
        if process.wakes_at.is_none_or(|at| at > now) {
            return;
        }
        process.wakes_at = None;
        process.member.handle_tick(self.clock.monotonic(now));
        self.begin_round(scene);
        let Some(process) = &mut self.process else { return };
        let desk = &mut process.desk;
        let mut witness = Witness::new(scene.stage, &mut desk.twin, desk.reign);
        desk.host.handle_tick(|()| false, &mut witness);
    }

    fn begin_round(&mut self, scene: &mut Scene<'_>) {
        let reading = self.clock.reading(scene.stage.now);
        let Some(process) = &mut self.process else { return };
        let desk = &mut process.desk;
        let mut witness = Witness::new(scene.stage, &mut desk.twin, desk.reign);
        desk.host.handle_time(reading, &mut witness);
    }

    /// A message of another member.
    pub(crate) fn hear(&mut self, scene: &mut Scene<'_>, from: MemberId, message: Message) {
        let now = self.clock.monotonic(scene.stage.now);
        let Some(Process { member, replica, .. }) = &mut self.process else { return };
        match message {
            Message::Probe { round, last } => {
                if last >= replica.stored.last() && member.would_vote(now) {
                    scene.post(self.id, from, Message::Willing { round });
                }
            }
            Message::Willing { round } => member.handle_willing(Round(round), from),
            Message::Vote { term, last } => return self.asked_for_vote(scene, from, term, last),
            Message::Voted { term, granted } => replica.voted(from, term, granted),
            Message::Append { term, prior, items, commit, started } => {
                if term >= replica.term() {
                    member.handle_leader(now, from, epoch_of(term, from));
                }
                replica.append(from, term, prior, items, commit, started);
            }
            Message::Install { term, saved, started } => {
                if term >= replica.term() {
                    member.handle_leader(now, from, epoch_of(term, from));
                }
                scene.stage.count("state_sent");
                replica.install(from, term, saved, started);
            }
            Message::Appended { term, has, started } => {
                if replica.appended(from, term, has) {
                    member.handle_confirmed(now, epoch_of(term, self.id), from, started);
                    if has.is_err() || replica.lacks_much(from) {
                        replica.send_more(from, now);
                    }
                }
            }
            Message::Succeed { epoch } => {
                member.handle_named(now, epoch);
            }
        }
        self.go_on(scene);
    }

    fn asked_for_vote(
        &mut self,
        scene: &mut Scene<'_>,
        from: MemberId,
        term: u64,
        last: super::log::Place,
    ) {
        let now = self.clock.monotonic(scene.stage.now);
        let Some(process) = &mut self.process else { return };
        if !process.member.handle_vote_asked(now) {
            let term = process.replica.term();
            return scene.post(self.id, from, Message::Voted { term, granted: false });
        }
        // Its own reign is over before it votes for another.
        self.perform(scene);
        let Some(process) = &mut self.process else { return };
        process.replica.asked_for_vote(from, term, last);
        self.go_on(scene);
        if scene.stage.random.chance(scene.settings.dies_after_vote) {
            scene.stage.count("member_died_after_vote");
            self.kill(scene.stage);
        }
    }

    fn after_sync(&mut self, write: u64) {
        let Some(process) = &mut self.process else { return };
        while process.after_sync.front().is_some_and(|(number, _)| *number <= write) {
            let Some((_, after)) = process.after_sync.pop_front() else { return };
            process.replica.after(after);
        }
    }

    /// Does what follows from what was heard, until nothing more does.
    pub(crate) fn go_on(&mut self, scene: &mut Scene<'_>) {
        self.take_deferred(scene);
        loop {
            self.tell_member(scene);
            let mut went_on = self.perform(scene);
            went_on |= self.flush(scene);
            went_on |= self.apply(scene);
            self.settle(scene);
            self.begin_reign(scene);
            went_on |= self.hand_over(scene);
            if !went_on {
                break;
            }
        }
        self.send(scene);
        self.read_queue(scene);
        self.call_for_news(scene);
        self.set_timer(scene);
    }

    fn take_deferred(&mut self, scene: &mut Scene<'_>) {
        let Some(process) = &mut self.process else { return };
        while let Some(letter) = process.desk.host.poll_deferred() {
            process.desk.take(scene.stage, letter);
        }
    }

    /// What the log says about who leads.
    fn tell_member(&mut self, scene: &mut Scene<'_>) {
        let now = self.clock.monotonic(scene.stage.now);
        let id = self.id;
        let Some(Process { member, replica, applied, .. }) = &mut self.process else { return };
        member.handle_voters(now, replica.stored.members().voters());
        let Some((term, barrier)) = replica.leads() else {
            return member.handle_not_elected(now);
        };
        let epoch = epoch_of(term, id);
        member.handle_elected(now, epoch);
        if *applied >= barrier {
            member.handle_barrier(epoch);
        }
    }

    /// Does what the member decides. Says whether there was anything.
    fn perform(&mut self, scene: &mut Scene<'_>) -> bool {
        let now = self.clock.monotonic(scene.stage.now);
        let mut acted = false;
        while let Some(process) = &mut self.process
            && let Some(act) = process.member.poll()
        {
            acted = true;
            match act {
                Act::Ask(Round(round)) => {
                    let last = process.replica.stored.last();
                    let members = process.replica.stored.members().clone();
                    for other in members.all().filter(|other| *other != self.id) {
                        scene.post(self.id, other, Message::Probe { round, last });
                    }
                }
                Act::Elect => {
                    if process.member.wants_votes() {
                        process.replica.stand();
                    }
                }
                Act::Beat => process.replica.send_all(now),
                Act::Accede(epoch) => {
                    if let Some(accession) = process.accession(epoch) {
                        accession.is_ready = true;
                    }
                }
                Act::ExtendLease(until) => {
                    if let Some(epoch) = process.member.leading()
                        && let Some(accession) = process.accession(epoch)
                    {
                        accession.lease_ends = accession.lease_ends.max(until);
                    }
                }
                Act::EndLease => {
                    process.accession = None;
                    self.end_reign(scene);
                }
                Act::StepDown(epoch) => process.replica.step_down(epoch.0 >> 16),
            }
        }
        acted
    }

    /// Sends and writes what the log wants sent and written. Says whether there was anything.
    fn flush(&mut self, scene: &mut Scene<'_>) -> bool {
        let Some(process) = &mut self.process else { return false };
        let out = process.replica.take_out();
        let went_on = !out.is_empty();
        for out in out {
            match out {
                Out::Send(to, message) => scene.post(self.id, to, message),
                Out::Write(write) => {
                    let now = scene.stage.now;
                    let (write, at) = self.disk.write(now, &mut scene.stage.random, write);
                    let due = MemberDue::Synced { write };
                    let (member, life) = (self.id, self.life);
                    let due = super::due::AmongDue::Member { member, life, due };
                    scene.stage.after(at - now, crate::faults::due::Due::Among(due));
                }
                Out::AfterSync(after) => match self.disk.last_write() {
                    Some(write) => process.after_sync.push_back((write, after)),
                    None => process.replica.after(after),
                },
                Out::Elected { term } => {
                    scene.stage.count("member_elected");
                    scene.stage.note(|| format!("member {} is elected in term {term}", self.id));
                    let member = self.id;
                    scene.stage.see(Observation::Among(Sight::Elected { member, term }));
                }
            }
        }
        went_on
    }

    /// Takes over what has been committed. Says whether there was anything.
    fn apply(&mut self, scene: &mut Scene<'_>) -> bool {
        let id = self.id;
        let Some(Process { replica, applied, head, .. }) = &mut self.process else { return false };
        let before = *applied;
        let saved = &replica.stored.saved;
        if saved.at.index > *applied {
            (*applied, *head) = (saved.at.index, saved.head);
        }
        while *applied < replica.commit
            && let Some(item) = replica.stored.item(*applied + 1)
        {
            *applied += 1;
            scene.truth.taken(scene.stage, id, *applied, item);
            if let Content::Record(record) = &item.content
                && record.prior == head.chain
            {
                *head = record.head();
            }
        }
        *applied > before
    }
}

impl Process {
    fn accession(&mut self, epoch: Epoch) -> Option<&mut Accession> {
        if self.accession.as_ref().is_none_or(|accession| accession.epoch != epoch) {
            let lease_ends = Micros::ZERO;
            self.accession = Some(Accession { epoch, lease_ends, is_ready: false });
        }
        self.accession.as_mut()
    }
}

impl Node {
    /// Lets the host hear of what was committed, a moment later.
    fn call_for_news(&mut self, scene: &mut Scene<'_>) {
        let due = self.due(MemberDue::TakesIn);
        let Some(process) = &mut self.process else { return };
        if process.reign.is_none()
            && !process.has_news
            && process.desk.host.durable() != process.head
        {
            process.has_news = true;
            let delay = scene.stage.random.between(NEWS_MIN, NEWS_MAX);
            scene.stage.after(delay, due);
        }
    }
}
