//! Who makes the scheduler do something, from outside.

use std::collections::BTreeMap;

use super::ids::{ActorNo, Name, Seq};
use super::limits::ACTORS_MAX;

/// A person or a program with a token, where they came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    /// Of the token, or of the queue.
    pub name: Name,
    /// The address, without a port, which changes with every connection.
    pub peer: Option<Name>,
}

/// The actors that have numbers, so that an event names one in a byte or two. Those that were not heard
/// of for longest are forgotten; their numbers are not given again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actors {
    known: BTreeMap<ActorNo, KnownActor>,
    pub last: ActorNo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownActor {
    pub actor: Actor,
    /// The last event that it caused, or the one that named it.
    pub heard: Seq,
}

impl Actors {
    pub fn get(&self, number: ActorNo) -> Option<&Actor> {
        self.known.get(&number).map(|known| &known.actor)
    }

    pub fn iter(&self) -> impl Iterator<Item = (ActorNo, &KnownActor)> {
        self.known.iter().map(|(number, known)| (*number, known))
    }

    /// Returns the one that is forgotten for it, if there are too many.
    pub fn insert(&mut self, number: ActorNo, known: KnownActor) -> Option<Actor> {
        self.last = self.last.max(number);
        self.known.insert(number, known);
        if self.known.len() <= ACTORS_MAX {
            return None;
        }
        let silent = self.known.iter().min_by_key(|(number, known)| (known.heard, **number));
        let silent = silent.map(|(number, _)| *number)?;
        self.known.remove(&silent).map(|known| known.actor)
    }

    pub(crate) fn hear(&mut self, number: ActorNo, seq: Seq) {
        if let Some(known) = self.known.get_mut(&number) {
            known.heard = seq;
        }
    }
}
