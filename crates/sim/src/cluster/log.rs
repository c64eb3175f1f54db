//! A log that several agree upon: what it consists of, and what a machine keeps of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bellwether_cluster::MemberId;
use bellwether_cluster::member::Voters;
use bellwether_journal::{Head, Record};
use bytes::Bytes;

#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) term: u64,
    pub(crate) by: MemberId,
    pub(crate) content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// The first of a leader: once it is committed, so is everything before it.
    Blank,
    Members(Arc<Members>),
    Record(Arc<Record>),
}

/// Tells entries at the same index apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) term: u64,
    pub(crate) by: MemberId,
}

impl Item {
    pub(crate) fn mark(&self) -> Mark {
        Mark { term: self.term, by: self.by }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Members {
    pub(crate) voters: BTreeSet<MemberId>,
    /// They are sent everything and count for nothing.
    pub(crate) learners: BTreeSet<MemberId>,
    /// The last number that was given.
    pub(crate) last: MemberId,
}

impl Members {
    pub(crate) fn first(count: u16) -> Members {
        let voters = (1..=count).map(MemberId).collect();
        Members { voters, learners: BTreeSet::new(), last: MemberId(count) }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = MemberId> {
        self.voters.iter().chain(&self.learners).copied()
    }

    pub(crate) fn contain(&self, id: MemberId) -> bool {
        self.voters.contains(&id) || self.learners.contains(&id)
    }

    pub(crate) fn voters(&self) -> Voters {
        Voters::new(vec![self.voters.clone()])
    }
}

/// Later terms first, longer logs first: whoever is behind must not lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    pub(crate) term: u64,
    pub(crate) index: u64,
}

/// In which term a member is, and whom it has given its vote.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ballot {
    pub(crate) term: u64,
    pub(crate) given: Option<MemberId>,
}

/// The state that stands for the beginning of a log.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    pub(crate) at: Place,
    pub(crate) head: Head,
    pub(crate) members: Arc<Members>,
    /// None before anything has happened.
    pub(crate) state: Option<Bytes>,
}

/// All that a machine keeps.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) ballot: Ballot,
    pub(crate) saved: Saved,
    /// Behind what is saved.
    items: Vec<Item>,
}

#[derive(Debug, Clone)]
pub(crate) enum Write {
    Ballot(Ballot),
    /// These items from this index on, and nothing behind them.
    Items {
        from: u64,
        items: Vec<Item>,
    },
    Saved(Saved),
}

impl Stored {
    pub(crate) fn new(members: Members) -> Stored {
        let saved = Saved {
            at: Place::default(),
            head: Head::GENESIS,
            members: Arc::new(members),
            state: None,
        };
        Stored { ballot: Ballot::default(), saved, items: Vec::new() }
    }

    pub(crate) fn last(&self) -> Place {
        let index = self.saved.at.index + self.items.len() as u64;
        self.items.last().map_or(self.saved.at, |item| Place { term: item.term, index })
    }

    pub(crate) fn item(&self, index: u64) -> Option<&Item> {
        self.items.get(index.checked_sub(self.saved.at.index + 1)? as usize)
    }

    pub(crate) fn place(&self, index: u64) -> Option<Place> {
        if index == self.saved.at.index {
            return Some(self.saved.at);
        }
        self.item(index).map(|item| Place { term: item.term, index })
    }

    /// At most so many, from this index on.
    pub(crate) fn items_from(&self, index: u64, most: usize) -> Vec<Item> {
        let skipped = index.saturating_sub(self.saved.at.index + 1) as usize;
        self.items.iter().skip(skipped).take(most).cloned().collect()
    }

    /// Who belongs to the pool at this point of the log.
    pub(crate) fn members_at(&self, index: u64) -> &Arc<Members> {
        let known = index.saturating_sub(self.saved.at.index) as usize;
        let changes = self.items[..known.min(self.items.len())].iter().rev();
        let mut changes = changes.filter_map(|item| match &item.content {
            Content::Members(members) => Some(members),
            Content::Blank | Content::Record(_) => None,
        });
        changes.next().unwrap_or(&self.saved.members)
    }

    /// A change of members counts as soon as it is in the log, committed or not.
    pub(crate) fn members(&self) -> &Arc<Members> {
        self.members_at(self.last().index)
    }

    pub(crate) fn apply(&mut self, write: Write) {
        match write {
            Write::Ballot(ballot) => self.ballot = ballot,
            Write::Items { from, items } => {
                let kept = from.saturating_sub(self.saved.at.index + 1) as usize;
                self.items.truncate(kept);
                self.items.extend(items);
            }
            Write::Saved(saved) => {
                let follows = self.place(saved.at.index) == Some(saved.at);
                let covered = saved.at.index.saturating_sub(self.saved.at.index) as usize;
                self.items.drain(..covered.min(self.items.len()));
                if !follows {
                    self.items.clear();
                }
                self.saved = saved;
            }
        }
    }
}
