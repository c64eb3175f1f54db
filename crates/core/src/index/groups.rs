//! Workers in groups of equals: those that can do the same.
//!
//! Workers of one group are equal but for their load, so the best of a group is the first of an
//! ordered set, and a decision costs as much as there are groups, not workers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::model::{
    JobNo, Micros, Name, Requirements, Resources, Target, Timestamp, Token, WorkerId, WorkerNo,
};
use crate::place::pace::Level;
use crate::state::Worker;

/// What makes two workers equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    pub(crate) machine: Name,
    /// Those that it has handlers for; empty if any.
    pub(crate) types: Box<[Name]>,
    /// Those that it turned out to have no handlers for.
    pub(crate) unhandled: Vec<Name>,
    pub(crate) roles: Box<[Name]>,
    pub(crate) capabilities: Box<[Name]>,
    pub(crate) models: Vec<Name>,
    pub(crate) loads_models: bool,
    pub(crate) resources: Resources,
    /// How much faster or slower than its class it has proved to be.
    pub(crate) pace: Level,
}

/// How a worker with room stands among its equals: the least comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FreeKey {
    /// It has no free slot, only room to prefetch.
    pub(crate) prefetch: bool,
    pub(crate) load_permille: u32,
    pub(crate) busy: u64,
    pub(crate) id: WorkerId,
    pub(crate) worker: WorkerNo,
}

index_number!(
    /// A group of workers, by its place in the list; given to another once the group is empty.
    GroupNo
);

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) key: GroupKey,
    /// The number that predictions know its machines by.
    pub(crate) machine: u32,
    pub(crate) workers: usize,
    /// Slots of all its workers.
    pub(crate) slots: usize,
    /// Those with room, best first.
    pub(crate) free: BTreeSet<FreeKey>,
    /// The same, by number: for taking turns.
    pub(crate) turn: BTreeSet<WorkerNo>,
    /// When the attempts at hand are expected to end.
    pub(crate) ends: BTreeSet<(Timestamp, JobNo, Token)>,
}

#[derive(Debug, Default)]
pub(crate) struct Groups {
    by_key: BTreeMap<GroupKey, GroupNo>,
    slots: Vec<Option<Group>>,
    free: Vec<GroupNo>,
    /// Workers with room, of all groups.
    with_room: usize,
}

impl Groups {
    /// False if every worker is full: then no job needs to be looked at.
    pub(crate) fn have_room(&self) -> bool {
        self.with_room > 0
    }

    /// Moves a worker among those with room; each key is where it was or is to be listed.
    pub(crate) fn relist(&mut self, group: GroupNo, was: Option<FreeKey>, is: Option<FreeKey>) {
        let entry = self.slots[group.index()].as_mut().expect("workers name groups that exist");
        match (&was, &is) {
            (None, Some(key)) => {
                entry.turn.insert(key.worker);
                self.with_room += 1;
            }
            (Some(key), None) => {
                entry.turn.remove(&key.worker);
                self.with_room -= 1;
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        if let Some(key) = was {
            entry.free.remove(&key);
        }
        if let Some(key) = is {
            entry.free.insert(key);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.slots.iter().flatten()
    }

    pub(crate) fn get(&self, group: GroupNo) -> &Group {
        self.slots[group.index()].as_ref().expect("workers name groups that exist")
    }

    pub(crate) fn get_mut(&mut self, group: GroupNo) -> &mut Group {
        self.slots[group.index()].as_mut().expect("workers name groups that exist")
    }

    /// Adds a worker to its group; true if the group is new.
    pub(crate) fn enter(&mut self, key: GroupKey, machine: u32, slots: usize) -> (GroupNo, bool) {
        if let Some(group) = self.by_key.get(&key).copied() {
            let entry = self.get_mut(group);
            entry.workers += 1;
            entry.slots += slots;
            return (group, false);
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            GroupNo::at(self.slots.len() - 1)
        });
        self.by_key.insert(key.clone(), number);
        self.slots[number.index()] = Some(Group {
            key,
            machine,
            workers: 1,
            slots,
            free: BTreeSet::new(),
            turn: BTreeSet::new(),
            ends: BTreeSet::new(),
        });
        (number, true)
    }

    /// Takes a worker out of its group; true if that was its last.
    pub(crate) fn leave(&mut self, group: GroupNo, slots: usize) -> bool {
        let entry = self.get_mut(group);
        entry.workers -= 1;
        entry.slots -= slots;
        if entry.workers > 0 {
            return false;
        }
        let gone = self.slots[group.index()].take().expect("it was there a line ago");
        self.by_key.remove(&gone.key);
        self.free.push(group);
        true
    }

    pub(crate) fn matching(&self, requirements: &Requirements) -> Vec<GroupNo> {
        let all = self.slots.iter().enumerate();
        all.filter(|(_, group)| group.as_ref().is_some_and(|k| k.key.serves(requirements)))
            .map(|(number, _)| GroupNo::at(number))
            .collect()
    }
}

impl Group {
    /// The slots that are expected to come free, the soonest first: in how long, and who is on it.
    pub(crate) fn coming_free(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (Micros, JobNo, Token)> {
        let late = (Unbounded, Included((now, JobNo(u64::MAX), Token(u64::MAX))));
        let due = (Excluded((now, JobNo(u64::MAX), Token(u64::MAX))), Unbounded);
        let waiting =
            move |end: &(Timestamp, JobNo, Token)| (expected_wait(end.0, now), end.1, end.2);
        // Both lists grow: the longer an attempt is late, the longer it is still expected to last.
        let mut late = self.ends.range(late).rev().map(waiting).peekable();
        let mut due = self.ends.range(due).map(waiting).peekable();
        std::iter::from_fn(move || match (late.peek(), due.peek()) {
            (Some(one), Some(other)) if one.0 <= other.0 => late.next(),
            (Some(_), None) => late.next(),
            (_, _) => due.next(),
        })
    }
}

/// An attempt that is overdue is expected to need half as long again as it is late.
pub(crate) fn expected_wait(end: Timestamp, now: Timestamp) -> Micros {
    if end > now { end.since(now) } else { Micros(now.since(end).0 / 2 + 1) }
}

impl GroupKey {
    pub(crate) fn of(worker: &Worker) -> GroupKey {
        GroupKey {
            machine: worker.spec.class.clone(),
            types: worker.spec.types.clone(),
            unhandled: worker.unhandled.clone(),
            roles: worker.spec.roles.clone(),
            capabilities: worker.spec.capabilities.clone(),
            models: worker.models.clone(),
            loads_models: worker.spec.loads_models,
            resources: worker.spec.resources,
            pace: worker.pace.level(),
        }
    }

    /// Could a worker of this group, if it were idle, run such a job?
    pub(crate) fn serves(&self, wanted: &Requirements) -> bool {
        self.lacks(wanted).is_none()
    }

    /// A handler for `exec` also takes `exec/make`: what stands behind a slash tells jobs apart,
    /// not handlers.
    fn handles(&self, kind: &Name) -> bool {
        let has = |kind: &str| self.types.binary_search_by(|own| own.as_str().cmp(kind)).is_ok();
        (self.types.is_empty() || handlers_of(kind.as_str()).any(has))
            && self.unhandled.binary_search(kind).is_err()
    }

    /// The first thing that it does not have.
    pub(crate) fn lacks(&self, wanted: &Requirements) -> Option<Lack> {
        self.lacking(wanted).next()
    }

    /// Everything that it does not have, the hardest to come by first.
    pub(crate) fn lacking<'a>(&'a self, wanted: &'a Requirements) -> impl Iterator<Item = Lack> {
        let kind = Some(&wanted.kind).filter(|kind| !self.handles(kind));
        let role = match &wanted.target {
            Target::Role(role) => Some(role),
            Target::Any | Target::Receiver(_) => None,
        };
        let role = role.filter(|role| self.roles.binary_search(role).is_err());
        let missing = |name: &&Name| self.capabilities.binary_search(name).is_err();
        let capabilities = wanted.capabilities.iter().filter(missing);
        let cold = |model: &&Name| !self.loads_models && self.models.binary_search(model).is_err();
        let model = wanted.model.as_ref().filter(cold);
        let (has, wants) = (self.resources, wanted.resources);
        let cpu = (has.cpu != 0 && wants.cpu > has.cpu)
            .then_some(Lack::Cpu { wanted: wants.cpu, has: has.cpu });
        let memory = (has.memory != 0 && wants.memory > has.memory)
            .then_some(Lack::Memory { wanted: wants.memory, has: has.memory });
        let kind = kind.into_iter().map(|kind| Lack::Type(kind.clone()));
        let role = role.into_iter().map(|role| Lack::Role(role.clone()));
        let model = model.into_iter().map(|model| Lack::Model(model.clone()));
        kind.chain(role)
            .chain(capabilities.map(|name| Lack::Capability(name.clone())))
            .chain(model)
            .chain(cpu)
            .chain(memory)
    }
}

/// The types whose handlers may run jobs of this one, the closest first: `a/b/c`, `a/b` and `a`.
pub fn handlers_of(kind: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(kind), |kind| Some(kind.rsplit_once('/')?.0))
}

/// What keeps a worker from ever running a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// A handler for this type of jobs.
    Type(Name),
    Role(Name),
    Capability(Name),
    Model(Name),
    Cpu {
        wanted: u32,
        has: u32,
    },
    Memory {
        wanted: u64,
        has: u64,
    },
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lack::Type(kind) => write!(f, "it has no handler for the type {kind}"),
            Lack::Role(role) => write!(f, "it lacks the role {role}"),
            Lack::Capability(capability) => write!(f, "it lacks the capability {capability}"),
            Lack::Model(model) => write!(f, "it does not have the model {model} and loads none"),
            Lack::Cpu { wanted, has } => {
                write!(f, "it has {has} millicores of the {wanted} required")
            }
            Lack::Memory { wanted, has } => {
                write!(f, "it has {has} bytes of memory of the {wanted} required")
            }
        }
    }
}
