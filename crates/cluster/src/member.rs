//! A scheduler among several that agree by votes, as a machine: time and news come in, acts come out.
//!
//! Call `handle_*` with what has happened, then [`Member::poll`] until there is nothing left to do, and
//! [`Member::handle_tick`] at the latest when [`Member::deadline`] has come. Coming late is safe: what
//! a lease allows is decided by the time that is handed in, never by who was called in time.
//!
//! The lease is the heart of it. Whoever accepts a message of a leader promises its vote to nobody
//! else for a while; a leader that a majority has confirmed therefore knows until when no other can
//! have been elected, counted from the moment at which it began to ask. Only so long may it tell
//! what it knows.
//!
//! Deliberately absent: the log. Who is elected, and what is committed, is for the log to say.

mod defect;
#[cfg(test)]
mod tests;
mod timing;
mod voters;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bellwether_core::model::{Epoch, Micros};

use crate::door::{MemberId, Role};
pub use defect::Defect;
use timing::Chance;
pub use timing::Timing;
pub use voters::Voters;

#[derive(Debug)]
pub struct Member {
    id: MemberId,
    timing: Timing,
    chance: Chance,
    voters: Voters,
    state: State,
    /// Who was last heard to lead, in which epoch, and when.
    leader: Option<(MemberId, Epoch)>,
    heard: Micros,
    /// The latest epoch of its own that is over.
    past: Epoch,
    /// It has resigned, and lets others go first until then.
    rests_until: Micros,
    rounds: u64,
    acts: VecDeque<Act>,
    defect: Option<Defect>,
}

#[derive(Debug)]
enum State {
    Following {
        stand_at: Micros,
    },
    /// It asks who would vote for it, and once a majority would, for their votes.
    Standing {
        round: Round,
        willing: BTreeSet<MemberId>,
        asked_for_votes: bool,
        again_at: Micros,
    },
    /// Elected, and taking in what was committed before.
    Acceding {
        reign: Reign,
        told: bool,
    },
    Reigning {
        reign: Reign,
    },
    /// Its reign is over, and the log may not know it yet.
    Deposed {
        epoch: Epoch,
        again_at: Micros,
    },
}

#[derive(Debug)]
struct Reign {
    epoch: Epoch,
    since: Micros,
    /// When each of the others was asked for what it has confirmed last.
    confirmed_by: BTreeMap<MemberId, Micros>,
    lease_ends: Micros,
    beat_at: Micros,
}

/// One attempt to become the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Ask the others whether they would vote for this member, without any promise.
    Ask(Round),
    /// Ask for their votes.
    Elect,
    /// Give a sign of life to all.
    Beat,
    /// What was committed before this epoch is applied: the reign may begin as soon as the engine has
    /// taken it in; [`Member::handle_ready`] says so.
    Accede(Epoch),
    /// To be done before anything else is told.
    ExtendLease(Micros),
    /// Nothing may be told any more. To be done before anything else.
    EndLease,
    /// Make the log forget that this member leads.
    StepDown(Epoch),
}

impl Member {
    /// A member that has just started. It can't know what it has promised before, so it promises
    /// nothing to anybody for a lease.
    pub fn new(id: MemberId, seed: u64, timing: Timing, now: Micros) -> Member {
        let mut member = Member {
            id,
            timing,
            chance: Chance::new(seed, id),
            voters: Voters::default(),
            state: State::Following { stand_at: now },
            leader: None,
            heard: now,
            past: Epoch(0),
            rests_until: Micros::ZERO,
            rounds: 0,
            acts: VecDeque::new(),
            defect: None,
        };
        member.follow(now);
        member
    }

    pub fn role(&self) -> Role {
        match &self.state {
            State::Following { .. } | State::Deposed { .. } if !self.voters.contain(self.id) => {
                Role::Learning
            }
            State::Following { .. } | State::Deposed { .. } => Role::Following,
            State::Standing { .. } => Role::Standing,
            State::Acceding { .. } => Role::Acceding,
            State::Reigning { .. } => Role::Reigning,
        }
    }

    /// Who leads, as far as this member knows.
    pub fn leader(&self) -> Option<(MemberId, Epoch)> {
        match &self.state {
            State::Acceding { .. } | State::Standing { .. } | State::Deposed { .. } => None,
            State::Reigning { reign } => Some((self.id, reign.epoch)),
            State::Following { .. } => self.leader,
        }
    }

    /// The epoch that it leads in, or is about to.
    pub fn leading(&self) -> Option<Epoch> {
        match &self.state {
            State::Acceding { reign, .. } | State::Reigning { reign } => Some(reign.epoch),
            State::Following { .. } | State::Standing { .. } | State::Deposed { .. } => None,
        }
    }

    /// Whether it still wants the votes that it has decided to ask for. To be asked, and acted upon,
    /// before anything else is told: whoever hears of a leader in between has promised its own vote.
    pub fn wants_votes(&self) -> bool {
        matches!(self.state, State::Standing { asked_for_votes: true, .. })
    }

    pub fn poll(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// When to call [`Member::handle_tick`] at the latest.
    pub fn deadline(&self) -> Micros {
        match &self.state {
            State::Following { stand_at } => *stand_at,
            State::Standing { again_at, .. } | State::Deposed { again_at, .. } => *again_at,
            State::Acceding { reign, .. } | State::Reigning { reign } => reign.beat_at,
        }
    }

    pub fn handle_tick(&mut self, now: Micros) {
        match &mut self.state {
            State::Following { stand_at } => {
                if now >= *stand_at {
                    self.stand(now);
                }
            }
            State::Standing { again_at, .. } => {
                if now >= *again_at && self.defect != Some(Defect::StandsOnce) {
                    self.stand(now);
                }
            }
            State::Deposed { epoch, again_at } => {
                if now >= *again_at {
                    *again_at = now + self.timing.round;
                    self.acts.push_back(Act::StepDown(*epoch));
                }
            }
            State::Acceding { .. } | State::Reigning { .. } => self.lead(now),
        }
    }

    fn lead(&mut self, now: Micros) {
        // Whoever is a majority alone confirms itself.
        self.renew(now);
        let (State::Acceding { reign, .. } | State::Reigning { reign }) = &mut self.state else {
            return;
        };
        let since = reign.lease_ends.max(reign.since + self.timing.lease);
        if now >= since + self.timing.grace {
            self.depose(now);
        } else if now >= reign.beat_at {
            reign.beat_at = now + self.timing.heartbeat;
            self.acts.push_back(Act::Beat);
        }
    }

    pub fn handle_voters(&mut self, now: Micros, voters: Voters) {
        self.voters = voters;
        self.renew(now);
    }

    /// A message of a leader has come.
    pub fn handle_leader(&mut self, now: Micros, leader: MemberId, epoch: Epoch) {
        if leader == self.id || self.leader.is_some_and(|(_, known)| epoch < known) {
            return;
        }
        match &self.state {
            State::Acceding { reign, .. } | State::Reigning { reign } => {
                if epoch < reign.epoch {
                    return;
                }
                self.past = reign.epoch;
                self.acts.push_back(Act::EndLease);
            }
            State::Following { .. } | State::Standing { .. } | State::Deposed { .. } => {}
        }
        if epoch > self.past {
            // Another leads: whoever has resigned need let nobody go first any more.
            self.rests_until = Micros::ZERO;
        }
        self.leader = Some((leader, epoch));
        self.heard = now;
        self.follow(now);
    }

    /// The leader of this epoch has ended its own lease, and wants this member to be the next one:
    /// what was promised to it holds no longer.
    pub fn handle_named(&mut self, now: Micros, epoch: Epoch) {
        let follows = matches!(self.state, State::Following { .. });
        if follows && self.leader.is_some_and(|(_, known)| known == epoch) {
            self.stand(now);
        }
    }

    /// Somebody would vote for this member.
    pub fn handle_willing(&mut self, round: Round, from: MemberId) {
        let State::Standing { round: current, willing, asked_for_votes, .. } = &mut self.state
        else {
            return;
        };
        if *current != round {
            return;
        }
        willing.insert(from);
        if !*asked_for_votes && self.voters.is_majority(willing) {
            *asked_for_votes = true;
            self.acts.push_back(Act::Elect);
        }
    }

    /// The log says that this member leads.
    pub fn handle_elected(&mut self, now: Micros, epoch: Epoch) {
        let known = match &self.state {
            State::Following { .. } | State::Standing { .. } | State::Deposed { .. } => self.past,
            State::Acceding { reign, .. } | State::Reigning { reign } => reign.epoch,
        };
        if epoch <= known {
            return;
        }
        let reign = Reign {
            epoch,
            since: now,
            confirmed_by: BTreeMap::new(),
            lease_ends: Micros::ZERO,
            beat_at: now,
        };
        self.state = State::Acceding { reign, told: false };
        self.renew(now);
        if self.has(Defect::DecidesBeforeBarrier) {
            self.handle_barrier(epoch);
        }
    }

    /// The log says that this member does not lead.
    pub fn handle_not_elected(&mut self, now: Micros) {
        match &self.state {
            State::Following { .. } | State::Standing { .. } => {}
            State::Acceding { reign, .. } | State::Reigning { reign } => {
                self.past = reign.epoch;
                self.acts.push_back(Act::EndLease);
                self.follow(now);
            }
            State::Deposed { .. } => self.follow(now),
        }
    }

    /// What was committed before this epoch is applied.
    pub fn handle_barrier(&mut self, epoch: Epoch) {
        let State::Acceding { reign, told } = &mut self.state else { return };
        if reign.epoch == epoch && !*told {
            *told = true;
            self.acts.push_back(Act::Accede(epoch));
        }
    }

    /// The engine has taken in all that was committed before. Says whether the reign begins.
    pub fn handle_ready(&mut self, now: Micros, epoch: Epoch) -> bool {
        match &self.state {
            State::Acceding { reign, told: true }
                if reign.epoch == epoch && now < reign.lease_ends => {}
            _ => return false,
        }
        let placeholder = State::Deposed { epoch, again_at: now };
        if let State::Acceding { reign, .. } = std::mem::replace(&mut self.state, placeholder) {
            self.state = State::Reigning { reign };
        }
        true
    }

    /// Another has accepted a message of this leader that was begun at `started`.
    pub fn handle_confirmed(&mut self, now: Micros, epoch: Epoch, from: MemberId, started: Micros) {
        let (State::Acceding { reign, .. } | State::Reigning { reign }) = &mut self.state else {
            return;
        };
        if reign.epoch == epoch {
            let started = match self.defect {
                Some(Defect::LeaseCountsFromAnswer) => now,
                _ => started,
            };
            let moment = reign.confirmed_by.entry(from).or_insert(started);
            *moment = (*moment).max(started);
            self.renew(now);
        }
    }

    /// This member shall not lead any longer, and not stand again before others could. The log goes on
    /// for a moment, so that whoever is to follow can have all of it; then it is told, too.
    pub fn handle_resigned(&mut self, now: Micros) {
        if let State::Acceding { reign, .. } | State::Reigning { reign } = &self.state {
            let epoch = reign.epoch;
            self.past = epoch;
            self.rests_until = now + self.timing.lease.times(3);
            self.acts.push_back(Act::EndLease);
            self.state = State::Deposed { epoch, again_at: now + self.timing.round };
        }
    }

    /// Nobody uses the reign any more: another may lead, this member included.
    pub fn handle_abandoned(&mut self, now: Micros, epoch: Epoch) {
        if self.leading() == Some(epoch) {
            self.depose(now);
        }
    }

    /// Who has confirmed this leader of late, itself included.
    pub fn answering(&self, now: Micros) -> BTreeSet<MemberId> {
        let (State::Acceding { reign, .. } | State::Reigning { reign }) = &self.state else {
            return BTreeSet::new();
        };
        let oldest = now.minus(self.timing.lease.times(2));
        let of_late = reign.confirmed_by.iter().filter(|(_, moment)| **moment >= oldest);
        of_late.map(|(id, _)| *id).chain([self.id]).collect()
    }

    /// Whether a candidate may be given this member's vote. Before it is, this member has stopped to
    /// lead: a late confirmation must not bring its lease back.
    pub fn handle_vote_asked(&mut self, now: Micros) -> bool {
        if !self.would_vote(now) {
            return false;
        }
        match &mut self.state {
            State::Acceding { .. } | State::Reigning { .. } => self.depose(now),
            State::Following { stand_at: next } | State::Standing { again_at: next, .. } => {
                *next = (*next).max(now + self.timing.round);
            }
            State::Deposed { .. } => {}
        }
        true
    }

    /// Whether it would be given, if it were asked for now.
    pub fn would_vote(&self, now: Micros) -> bool {
        if self.has(Defect::VotesAgainstItsPromise) {
            return true;
        }
        match &self.state {
            State::Acceding { reign, .. } | State::Reigning { reign } => {
                now >= reign.lease_ends.max(reign.since + self.timing.lease)
            }
            State::Following { .. } | State::Standing { .. } | State::Deposed { .. } => {
                now >= self.heard + self.timing.lease
            }
        }
    }

    /// Switches a known bug on, to show that the simulator catches it.
    pub fn plant(&mut self, defect: Defect) {
        self.defect = cfg!(feature = "defects").then_some(defect);
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Waits for a leader from `since` on.
    fn follow(&mut self, since: Micros) {
        let rank = self.voters.rank(self.id, self.leader.map(|(leader, _)| leader));
        let silence = self.timing.lease + self.timing.patience + self.timing.stagger.times(rank);
        let stand_at = since + silence + self.chance.up_to(self.timing.jitter);
        self.state = State::Following { stand_at: stand_at.max(self.rests_until) };
    }

    fn stand(&mut self, now: Micros) {
        if !self.voters.contain(self.id) {
            self.state = State::Following { stand_at: now + self.timing.lease };
            return;
        }
        self.rounds += 1;
        let rank = self.voters.rank(self.id, None);
        let patience = self.timing.round + self.timing.stagger.times(rank);
        let round = Round(self.rounds);
        self.state = State::Standing {
            round,
            willing: BTreeSet::new(),
            asked_for_votes: false,
            again_at: now + patience + self.chance.up_to(self.timing.jitter),
        };
        self.acts.push_back(Act::Ask(round));
        self.handle_willing(round, self.id);
    }

    fn depose(&mut self, now: Micros) {
        if let State::Acceding { reign, .. } | State::Reigning { reign } = &self.state {
            let epoch = reign.epoch;
            self.past = epoch;
            self.acts.push_back(Act::EndLease);
            self.acts.push_back(Act::StepDown(epoch));
            self.state = State::Deposed { epoch, again_at: now + self.timing.round };
        }
    }

    /// Counts the lease anew from what a majority has confirmed.
    fn renew(&mut self, now: Micros) {
        let (State::Acceding { reign, .. } | State::Reigning { reign }) = &mut self.state else {
            return;
        };
        let Some(confirmed) = self.voters.confirmed(self.id, now, &reign.confirmed_by) else {
            return;
        };
        let ends = confirmed + self.timing.lease.minus(self.timing.margin);
        if ends > reign.lease_ends {
            reign.lease_ends = ends;
            self.acts.push_back(Act::ExtendLease(ends));
        }
    }
}
