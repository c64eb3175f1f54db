//! What is committed, as far as this member has it.

use std::collections::VecDeque;

use bellwether_core::model::Seq;
use bellwether_journal::{Damage, Flaw, Head, Record};
use bytes::Bytes;
use openraft::EntryPayload;

use crate::raft::types::{LogEntry, LogId, StoredMembership};

/// Records of so many bytes are kept in memory for those who follow closely.
const RECENT_BYTES_MAX: usize = 64 << 20;

/// A place in the log, and all that its past leaves behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) last: Option<LogId>,
    pub(crate) head: Head,
    pub(crate) membership: StoredMembership,
    /// The highest number that was ever given to a member.
    pub(crate) last_member: u16,
}

#[derive(Debug)]
pub(crate) struct Applied {
    /// What lies before is no longer in the log.
    base: Mark,
    now: Mark,
    /// All since the base, in order.
    memberships: Vec<StoredMembership>,
    recent: VecDeque<Recent>,
    recent_bytes: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Recent {
    pub(crate) prior: Head,
    pub(crate) head: Head,
    pub(crate) bytes: Bytes,
}

impl Recent {
    pub(crate) fn decode(self) -> Result<Record, Damage> {
        Record::verified(self.prior, self.head.chain, self.bytes)
    }
}

impl Applied {
    pub(crate) fn new(base: Mark) -> Applied {
        let memberships = vec![base.membership.clone()];
        let now = base.clone();
        Applied { base, now, memberships, recent: VecDeque::new(), recent_bytes: 0 }
    }

    /// What stands at a record that ends at `head`; `others` are the entries without a record since the base.
    pub(super) fn up_to(base: Mark, others: &[LogEntry], last: LogId, head: Head) -> Applied {
        let mut applied = Applied::new(base);
        for entry in others {
            applied.take_membership(entry);
        }
        applied.now.last = Some(last);
        applied.now.head = head;
        applied
    }

    pub(crate) fn base(&self) -> &Mark {
        &self.base
    }

    pub(crate) fn head(&self) -> Head {
        self.now.head
    }

    pub(crate) fn last(&self) -> Option<LogId> {
        self.now.last
    }

    pub(crate) fn index(&self) -> Option<u64> {
        self.now.last.map(|log_id| log_id.index)
    }

    pub(crate) fn membership(&self) -> &StoredMembership {
        &self.now.membership
    }

    pub(crate) fn last_member(&self) -> u16 {
        self.now.last_member
    }

    /// What stands at this place, which ends at `head`.
    pub(crate) fn mark(&self, last: Option<LogId>, head: Head) -> Mark {
        let known = self.memberships.iter().rev().find(|known| *known.log_id() <= last);
        let membership = known.unwrap_or(&self.base.membership).clone();
        Mark { last, head, membership, last_member: self.now.last_member }
    }

    /// The log has forgotten what lies before.
    pub(crate) fn set_base(&mut self, base: Mark) {
        self.memberships.retain(|membership| *membership.log_id() > base.last);
        self.memberships.insert(0, base.membership.clone());
        self.base = base;
    }

    /// Gives how far the journal goes now. A record that does not follow is damage: whoever leads
    /// proposes only behind what was committed before.
    pub(crate) fn apply(&mut self, entry: &LogEntry) -> Result<Head, Damage> {
        match &entry.payload {
            EntryPayload::Blank => {}
            EntryPayload::Normal(proposal) => {
                let prior = self.now.head;
                let head = Record::check(prior, proposal.head.chain, &proposal.record)?;
                if proposal.prior != prior || head != proposal.head {
                    return Err(Damage { at: prior.seq.next(), flaw: Flaw::Chain });
                }
                self.remember(Recent { prior, head, bytes: proposal.record.clone() });
                self.now.head = head;
            }
            EntryPayload::Membership(_) => self.take_membership(entry),
        }
        self.now.last = Some(entry.log_id);
        Ok(self.now.head)
    }

    fn take_membership(&mut self, entry: &LogEntry) {
        let EntryPayload::Membership(membership) = &entry.payload else { return };
        let numbers = membership.nodes().map(|(id, _)| u16::try_from(*id).unwrap_or(0));
        self.now.last_member = numbers.fold(self.now.last_member, u16::max);
        self.now.membership = StoredMembership::new(Some(entry.log_id), membership.clone());
        self.memberships.push(self.now.membership.clone());
    }

    fn remember(&mut self, recent: Recent) {
        self.recent_bytes += recent.bytes.len();
        self.recent.push_back(recent);
        while self.recent_bytes > RECENT_BYTES_MAX && self.recent.len() > 1 {
            let oldest = self.recent.pop_front().expect("there is more than one");
            self.recent_bytes -= oldest.bytes.len();
        }
    }

    /// The record behind this position, if it is still in memory.
    pub(crate) fn recent_after(&self, seq: Seq) -> Option<Recent> {
        let place = self.recent.binary_search_by_key(&seq, |recent| recent.prior.seq).ok()?;
        self.recent.get(place).cloned()
    }
}
