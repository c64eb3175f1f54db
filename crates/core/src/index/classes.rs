//! Ready jobs, by what they require.
//!
//! Jobs with equal requirements form a class and wait in one ordered set. The heads of all classes
//! that may find a worker are listed by rank. A class that found none is parked, and wakes when a
//! worker that it could use gains capacity; so a blocked job is not looked at again and again,
//! however many wait.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use super::FixedMap;
use super::groups::GroupNo;
use crate::model::{JobNo, Requirements, Target};

/// Classes kept without jobs, in case more like them come.
const EMPTY_CLASSES_MAX: usize = 10_000;

/// A job's place in the order: lower goes first.
pub(crate) type Place = (i64, JobNo);

index_number!(
    /// A class of jobs, by its place in the list; given to another once the class is dropped.
    ClassNo
);

#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) requirements: Arc<Requirements>,
    pub(crate) ready: BTreeSet<Place>,
    /// Groups of workers that could run it.
    pub(crate) groups: Vec<GroupNo>,
    /// Jobs that belong to it, ready or not.
    jobs: usize,
    parked: Option<Place>,
    listed: Option<Place>,
    pub(crate) paused: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Classes {
    by_requirements: FixedMap<Arc<Requirements>, ClassNo>,
    slots: Vec<Option<Class>>,
    free: Vec<ClassNo>,
    empty: usize,
    /// Ready jobs of all classes.
    ready: u64,
    /// The heads of all classes that are neither parked nor paused.
    open: BTreeSet<(Place, ClassNo)>,
    /// Parked classes by the group of workers that could wake them.
    parked_by_group: Vec<BTreeSet<(Place, ClassNo)>>,
    parked_by_receiver: FixedMap<crate::model::WorkerId, BTreeSet<(Place, ClassNo)>>,
}

impl Classes {
    pub(crate) fn get(&self, class: ClassNo) -> &Class {
        self.slots[class.index()].as_ref().expect("jobs name classes that exist")
    }

    fn get_mut(&mut self, class: ClassNo) -> &mut Class {
        self.slots[class.index()].as_mut().expect("jobs name classes that exist")
    }

    /// Also of classes that are no more.
    fn numbers(&self) -> impl Iterator<Item = ClassNo> + use<> {
        (0..self.slots.len()).map(ClassNo::at)
    }

    /// Every class, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Class> {
        self.slots.iter().flatten()
    }

    pub(crate) fn find(&self, requirements: &Requirements) -> Option<ClassNo> {
        self.by_requirements.get(requirements).copied()
    }

    /// Adds a job to its class, which is made if it is new; `matching` names the groups for it.
    pub(crate) fn enter(
        &mut self,
        requirements: &Arc<Requirements>,
        paused: bool,
        matching: impl FnOnce(&Requirements) -> Vec<GroupNo>,
    ) -> ClassNo {
        if let Some(class) = self.find(requirements) {
            let entry = self.get_mut(class);
            entry.jobs += 1;
            if entry.jobs == 1 {
                self.empty -= 1;
            }
            return class;
        }
        let groups = matching(requirements);
        let class = Class {
            requirements: requirements.clone(),
            ready: BTreeSet::new(),
            groups,
            jobs: 1,
            parked: None,
            listed: None,
            paused,
        };
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            ClassNo::at(self.slots.len() - 1)
        });
        self.slots[number.index()] = Some(class);
        self.by_requirements.insert(requirements.clone(), number);
        number
    }

    pub(crate) fn leave(&mut self, class: ClassNo) {
        let entry = self.get_mut(class);
        entry.jobs -= 1;
        if entry.jobs > 0 {
            return;
        }
        self.empty += 1;
        if self.empty > EMPTY_CLASSES_MAX {
            self.drop_empty();
        }
    }

    fn drop_empty(&mut self) {
        for number in 0..self.slots.len() {
            if self.slots[number].as_ref().is_some_and(|class| class.jobs == 0) {
                let class = self.slots[number].take().expect("it was there a line ago");
                self.by_requirements.remove(&class.requirements);
                self.free.push(ClassNo::at(number));
            }
        }
        self.empty = 0;
    }

    pub(crate) fn push(&mut self, class: ClassNo, place: Place) {
        let new = self.get_mut(class).ready.insert(place);
        self.ready += u64::from(new);
        self.relist(class);
    }

    pub(crate) fn remove(&mut self, class: ClassNo, place: Place) {
        let known = self.get_mut(class).ready.remove(&place);
        self.ready -= u64::from(known);
        self.relist(class);
    }

    pub(crate) fn ready(&self) -> u64 {
        self.ready
    }

    /// The first open class, and the job at its head.
    pub(crate) fn first_open(&self) -> Option<(Place, ClassNo)> {
        self.open.first().copied()
    }

    /// The first open class whose head comes after `place`.
    pub(crate) fn open_behind(&self, place: Place) -> Option<(Place, ClassNo)> {
        let behind = (Bound::Excluded((place, ClassNo::at(u32::MAX as usize))), Bound::Unbounded);
        self.open.range(behind).next().copied()
    }

    /// After a change of what is paused.
    pub(crate) fn set_paused(&mut self, is_paused: impl Fn(&crate::model::Name) -> bool) {
        for number in self.numbers() {
            let Some(class) = self.slots[number.index()].as_mut() else { continue };
            let paused = is_paused(&class.requirements.kind);
            if class.paused != paused {
                class.paused = paused;
                self.relist(number);
            }
        }
    }

    /// No worker can take the head of this class now.
    pub(crate) fn park(&mut self, class: ClassNo) {
        let entry = self.get_mut(class);
        entry.parked = entry.ready.first().copied();
        if let Some(place) = entry.parked {
            self.list_parked(class, place);
        }
        self.relist(class);
    }

    pub(crate) fn unpark(&mut self, class: ClassNo) {
        if let Some(place) = self.get_mut(class).parked.take() {
            self.unlist_parked(class, place);
            self.relist(class);
        }
    }

    pub(crate) fn unpark_all(&mut self) {
        for number in self.numbers() {
            if self.slots[number.index()].is_some() {
                self.unpark(number);
            }
        }
    }

    /// Parked classes that a worker of this group and id could serve, in order of their heads.
    pub(crate) fn parked_for<'a>(
        &'a self,
        group: GroupNo,
        id: &crate::model::WorkerId,
    ) -> impl Iterator<Item = ClassNo> + 'a {
        let by_group = self.parked_by_group.get(group.index()).into_iter().flatten();
        let by_receiver = self.parked_by_receiver.get(id).into_iter().flatten();
        MergedPlaces { left: by_group.peekable(), right: by_receiver.peekable() }
    }

    /// A group of workers has appeared: which classes can use it?
    pub(crate) fn add_group(&mut self, group: GroupNo, serves: impl Fn(&Requirements) -> bool) {
        for number in self.numbers() {
            let Some(class) = self.slots[number.index()].as_ref() else { continue };
            if class.groups.contains(&group) || !serves(&class.requirements) {
                continue;
            }
            self.unpark(number);
            self.get_mut(number).groups.push(group);
            self.get_mut(number).groups.sort_unstable();
        }
    }

    pub(crate) fn remove_group(&mut self, group: GroupNo) {
        for number in self.numbers() {
            let Some(class) = self.slots[number.index()].as_ref() else { continue };
            if class.groups.contains(&group) {
                self.unpark(number);
                self.get_mut(number).groups.retain(|other| *other != group);
            }
        }
    }

    /// Keeps the lists in step with the head of a class.
    fn relist(&mut self, number: ClassNo) {
        let class = self.get_mut(number);
        let head = class.ready.first().copied();
        if let Some(parked) = class.parked
            && Some(parked) != head
        {
            class.parked = head;
            self.unlist_parked(number, parked);
            if let Some(place) = head {
                self.list_parked(number, place);
            }
        }
        let class = self.get_mut(number);
        let wanted = if class.paused || class.parked.is_some() { None } else { head };
        let listed = std::mem::replace(&mut class.listed, wanted);
        if listed == wanted {
            return;
        }
        if let Some(place) = listed {
            self.open.remove(&(place, number));
        }
        if let Some(place) = wanted {
            self.open.insert((place, number));
        }
    }

    fn list_parked(&mut self, number: ClassNo, place: Place) {
        let class = self.slots[number.index()].as_ref().expect("jobs name classes that exist");
        if let Target::Receiver(id) = &class.requirements.target {
            self.parked_by_receiver.entry(id.clone()).or_default().insert((place, number));
            return;
        }
        for group in &class.groups {
            let group = group.index();
            if self.parked_by_group.len() <= group {
                self.parked_by_group.resize_with(group + 1, BTreeSet::new);
            }
            self.parked_by_group[group].insert((place, number));
        }
    }

    fn unlist_parked(&mut self, number: ClassNo, place: Place) {
        let class = self.slots[number.index()].as_ref().expect("jobs name classes that exist");
        if let Target::Receiver(id) = &class.requirements.target {
            if let Some(set) = self.parked_by_receiver.get_mut(id) {
                set.remove(&(place, number));
                if set.is_empty() {
                    self.parked_by_receiver.remove(id);
                }
            }
            return;
        }
        for group in &class.groups {
            if let Some(set) = self.parked_by_group.get_mut(group.index()) {
                set.remove(&(place, number));
            }
        }
    }
}

/// Two ordered sets, walked as one.
struct MergedPlaces<L: Iterator, R: Iterator> {
    left: std::iter::Peekable<L>,
    right: std::iter::Peekable<R>,
}

impl<'a, L, R> Iterator for MergedPlaces<L, R>
where
    L: Iterator<Item = &'a (Place, ClassNo)>,
    R: Iterator<Item = &'a (Place, ClassNo)>,
{
    type Item = ClassNo;

    fn next(&mut self) -> Option<ClassNo> {
        let left_first = match (self.left.peek(), self.right.peek()) {
            (Some(left), Some(right)) => left <= right,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let next = if left_first { self.left.next() } else { self.right.next() };
        next.map(|(_, class)| *class)
    }
}
