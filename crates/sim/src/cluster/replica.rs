//! One member's part of the log, as a machine: messages come in, messages and writes come out.
//!
//! The model keeps to what every such log rests on: a vote is given once a term and only to one whose
//! log is not behind, nothing is answered before it is durable, an entry is committed once a majority
//! has it and one of the leader's own term is among them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bellwether_cluster::MemberId;
use bellwether_core::model::{Epoch, Micros};

use super::defect::LogDefect;
use super::log::{Ballot, Content, Item, Members, Place, Saved, Stored, Write};

/// Items that are sent at once.
const ITEMS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub(crate) enum Message {
    /// Would it be given a vote?
    Probe {
        round: u64,
        last: Place,
    },
    Willing {
        round: u64,
    },
    Vote {
        term: u64,
        last: Place,
    },
    Voted {
        term: u64,
        granted: bool,
    },
    Append {
        term: u64,
        prior: Place,
        items: Vec<Item>,
        commit: u64,
        started: Micros,
    },
    /// The last index that both have, or one from which to try again.
    Appended {
        term: u64,
        has: Result<u64, u64>,
        started: Micros,
    },
    Install {
        term: u64,
        saved: Saved,
        started: Micros,
    },
    /// The leader of this epoch wants this member to be the next one.
    Succeed {
        epoch: Epoch,
    },
}

#[derive(Debug)]
pub(crate) enum Out {
    Send(MemberId, Message),
    Write(Write),
    /// Once everything that was written before is durable.
    AfterSync(After),
    Elected {
        term: u64,
    },
}

#[derive(Debug)]
pub(crate) enum After {
    Send(MemberId, Message),
    AskForVotes { term: u64 },
    Has { term: u64, index: u64 },
}

#[derive(Debug)]
enum Role {
    Follows,
    Stands { votes: BTreeSet<MemberId> },
    Leads(Leading),
}

#[derive(Debug)]
struct Leading {
    /// What each of the others is known to have, and is to be sent next.
    has: BTreeMap<MemberId, u64>,
    next: BTreeMap<MemberId, u64>,
    /// What its own disk has.
    synced: u64,
    /// The first entry of its own.
    barrier: u64,
}

#[derive(Debug)]
pub(crate) struct Replica {
    id: MemberId,
    pub(crate) stored: Stored,
    role: Role,
    pub(crate) commit: u64,
    out: Vec<Out>,
    defect: Option<LogDefect>,
}

impl Replica {
    pub(crate) fn new(id: MemberId, stored: Stored, defect: Option<LogDefect>) -> Replica {
        let commit = stored.saved.at.index;
        Replica { id, stored, role: Role::Follows, commit, out: Vec::new(), defect }
    }

    pub(crate) fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }

    pub(crate) fn term(&self) -> u64 {
        self.stored.ballot.term
    }

    /// The term that it leads in, and where that begins.
    pub(crate) fn leads(&self) -> Option<(u64, u64)> {
        match &self.role {
            Role::Leads(leading) => Some((self.term(), leading.barrier)),
            Role::Follows | Role::Stands { .. } => None,
        }
    }

    pub(crate) fn stand(&mut self) {
        let ballot = Ballot { term: self.term() + 1, given: Some(self.id) };
        self.vote(ballot);
        self.role = Role::Stands { votes: BTreeSet::new() };
        self.out.push(Out::AfterSync(After::AskForVotes { term: ballot.term }));
    }

    /// What was written before is durable.
    pub(crate) fn after(&mut self, after: After) {
        match after {
            After::Send(to, message) => self.send(to, message),
            After::AskForVotes { term } => self.ask_for_votes(term),
            After::Has { term, index } => self.has(term, index),
        }
    }

    /// Its own vote is durable.
    fn ask_for_votes(&mut self, term: u64) {
        if term != self.term() || !matches!(self.role, Role::Stands { .. }) {
            return;
        }
        let last = self.stored.last();
        for voter in self.others(|members| members.voters.iter().copied().collect()) {
            self.out.push(Out::Send(voter, Message::Vote { term, last }));
        }
        self.voted(self.id, term, true);
    }

    /// Gives up a term that it leads in, or stands in.
    pub(crate) fn step_down(&mut self, term: u64) {
        if term == self.term() && !matches!(self.role, Role::Follows) {
            self.vote(Ballot { term: term + 1, given: None });
            self.role = Role::Follows;
        }
    }

    pub(crate) fn asked_for_vote(&mut self, from: MemberId, term: u64, last: Place) {
        self.notice(term, None);
        let ballot = self.stored.ballot;
        let free = ballot.given.is_none_or(|given| given == from);
        let granted = term == ballot.term && free && last >= self.stored.last();
        if granted {
            self.vote(Ballot { term, given: Some(from) });
        }
        let voted = Message::Voted { term: self.term(), granted };
        self.answer_after_sync(from, voted, LogDefect::VoteNotSynced);
    }

    pub(crate) fn voted(&mut self, from: MemberId, term: u64, granted: bool) {
        self.notice(term, None);
        let members = Arc::clone(self.stored.members());
        let Role::Stands { votes } = &mut self.role else { return };
        if term == self.stored.ballot.term && granted {
            votes.insert(from);
            if members.voters().is_majority(votes) {
                self.lead();
            }
        }
    }

    fn lead(&mut self) {
        let last = self.stored.last().index;
        let leading = Leading {
            has: BTreeMap::new(),
            next: BTreeMap::new(),
            synced: last,
            barrier: last + 1,
        };
        self.role = Role::Leads(leading);
        self.out.push(Out::Elected { term: self.term() });
        self.propose(Content::Blank);
    }

    /// Adds to the log, as its leader; gives the index.
    pub(crate) fn propose(&mut self, content: Content) -> u64 {
        let (term, by) = (self.term(), self.id);
        let index = self.stored.last().index + 1;
        let items = vec![Item { term, by, content }];
        self.write(Write::Items { from: index, items });
        self.out.push(Out::AfterSync(After::Has { term, index }));
        index
    }

    /// Its own disk has everything up to here.
    fn has(&mut self, term: u64, index: u64) {
        if term == self.term()
            && let Role::Leads(leading) = &mut self.role
        {
            leading.synced = leading.synced.max(index);
            self.commit_what_a_majority_has();
        }
    }

    /// Sends everybody what it lacks, or a sign of life. `now` is by its own clock.
    pub(crate) fn send_all(&mut self, now: Micros) {
        for other in self.others(|members| members.all().collect()) {
            self.send_more(other, now);
        }
    }

    pub(crate) fn send_more(&mut self, other: MemberId, now: Micros) {
        let Role::Leads(leading) = &self.role else { return };
        let after = self.stored.last().index + 1;
        let next = leading.next.get(&other).copied().unwrap_or(after).min(after);
        let (term, commit, started) = (self.term(), self.commit, now);
        let message = match self.stored.place(next - 1) {
            Some(prior) => {
                let items = self.stored.items_from(next, ITEMS_MAX);
                Message::Append { term, prior, items, commit, started }
            }
            None => Message::Install { term, saved: self.stored.saved.clone(), started },
        };
        self.send(other, message);
    }

    /// Whether it lacks more than one message brings.
    pub(crate) fn lacks_much(&self, id: MemberId) -> bool {
        self.lag(id).is_some_and(|lag| lag >= ITEMS_MAX as u64)
    }

    pub(crate) fn append(
        &mut self,
        from: MemberId,
        term: u64,
        prior: Place,
        mut items: Vec<Item>,
        commit: u64,
        started: Micros,
    ) {
        self.notice(term, Some(from));
        if term < self.term() {
            return self.send(from, Message::Appended { term: self.term(), has: Err(0), started });
        }
        let mut from_index = prior.index + 1;
        let saved = self.stored.saved.at.index;
        if prior.index < saved {
            // What is saved was committed, so it is the same.
            items.drain(..items.len().min((saved - prior.index) as usize));
            from_index = saved + 1;
        } else if self.stored.place(prior.index) != Some(prior) {
            let again = self.stored.last().index.min(prior.index - 1).max(saved);
            return self.send(from, Message::Appended { term, has: Err(again), started });
        }
        let matching = from_index + items.len() as u64 - 1;
        self.take_items(from_index, items);
        self.commit = self.commit.max(commit.min(matching));
        let appended = Message::Appended { term, has: Ok(matching), started };
        self.answer_after_sync(from, appended, LogDefect::AppendAcknowledgedBeforeSync);
    }

    /// Whatever is there already stays; what contradicts goes.
    fn take_items(&mut self, from: u64, items: Vec<Item>) {
        if self.has_defect(LogDefect::TruncatesCommitted) {
            if !items.is_empty() || self.stored.last().index >= from {
                self.write(Write::Items { from, items });
            }
            return;
        }
        let same = |(at, item): &(u64, &Item)| {
            self.stored.item(*at).is_some_and(|known| known.mark() == item.mark())
        };
        let known = (from..).zip(&items).take_while(same).count();
        if known < items.len() {
            let items = items[known..].to_vec();
            self.write(Write::Items { from: from + known as u64, items });
        }
    }

    /// What the leader has forgotten is taken over as a state.
    pub(crate) fn install(&mut self, from: MemberId, term: u64, mut saved: Saved, started: Micros) {
        self.notice(term, Some(from));
        if term < self.term() {
            return self.send(from, Message::Appended { term: self.term(), has: Err(0), started });
        }
        let has = saved.at.index;
        if has > self.commit {
            if self.has_defect(LogDefect::SnapshotWithoutMembers) {
                saved.members = Arc::clone(&self.stored.saved.members);
            }
            self.write(Write::Saved(saved));
            self.commit = has;
        }
        let appended = Message::Appended { term, has: Ok(has), started };
        self.answer_after_sync(from, appended, LogDefect::AppendAcknowledgedBeforeSync);
    }

    /// The beginning of the log is kept as a state from now on.
    pub(crate) fn compact(&mut self, saved: Saved) {
        self.write(Write::Saved(saved));
    }

    /// Says whether it has accepted this leader's word.
    pub(crate) fn appended(&mut self, from: MemberId, term: u64, has: Result<u64, u64>) -> bool {
        self.notice(term, None);
        let Role::Leads(leading) = &mut self.role else { return false };
        if term != self.stored.ballot.term {
            return false;
        }
        match has {
            Ok(index) => {
                let known = leading.has.entry(from).or_default();
                *known = index.max(*known);
                leading.next.insert(from, *known + 1);
                self.commit_what_a_majority_has();
            }
            Err(again) => {
                leading.next.insert(from, again + 1);
            }
        }
        true
    }

    fn commit_what_a_majority_has(&mut self) {
        let Role::Leads(leading) = &self.role else { return };
        let members = self.stored.members();
        let has = |id: &MemberId, index: u64| match *id == self.id {
            true => leading.synced >= index,
            false => leading.has.get(id).is_some_and(|has| *has >= index),
        };
        let committed = |index: &u64| {
            if self.has_defect(LogDefect::CommitsAlone) {
                return leading.synced >= *index;
            }
            if self.has_defect(LogDefect::LearnersCounted) {
                let having = members.all().filter(|id| has(id, *index)).count();
                return having > members.voters.len() / 2;
            }
            let having = members.voters.iter().copied().filter(|id| has(id, *index)).collect();
            members.voters().is_majority(&having)
        };
        let own = leading.barrier.max(self.commit + 1);
        let next = (own..=self.stored.last().index).rev().find(committed);
        self.commit = next.unwrap_or(self.commit);
    }

    /// How far another is behind, as far as this leader knows.
    pub(crate) fn lag(&self, id: MemberId) -> Option<u64> {
        let Role::Leads(leading) = &self.role else { return None };
        Some(self.stored.last().index.saturating_sub(*leading.has.get(&id)?))
    }

    /// A later term than its own is the end of whatever it was about.
    fn notice(&mut self, term: u64, leader: Option<MemberId>) {
        if term > self.term() {
            self.vote(Ballot { term, given: leader });
            self.role = Role::Follows;
        } else if term == self.term() && leader.is_some() {
            self.role = Role::Follows;
        }
    }

    fn vote(&mut self, ballot: Ballot) {
        if self.has_defect(LogDefect::VoteNotSynced) {
            self.stored.ballot = ballot;
            return;
        }
        self.write(Write::Ballot(ballot));
    }

    fn write(&mut self, write: Write) {
        self.stored.apply(write.clone());
        self.out.push(Out::Write(write));
    }

    fn send(&mut self, to: MemberId, message: Message) {
        self.out.push(Out::Send(to, message));
    }

    fn answer_after_sync(&mut self, to: MemberId, message: Message, unless: LogDefect) {
        match self.has_defect(unless) {
            true => self.send(to, message),
            false => self.out.push(Out::AfterSync(After::Send(to, message))),
        }
    }

    fn others(&self, of: impl FnOnce(&Members) -> Vec<MemberId>) -> Vec<MemberId> {
        let mut ids = of(self.stored.members());
        ids.retain(|id| *id != self.id);
        ids
    }

    fn has_defect(&self, defect: LogDefect) -> bool {
        self.defect == Some(defect)
    }
}
