//! Ready jobs that share keys. A key lets no more of them through than its limit allows.
//!
//! Jobs of one class with the same keys wait in a *lane*. A lane stands in the *line* of one of its keys,
//! its home, for as long as the others have room for it; and of each line only the first job is among
//! the ready ones of its class, for as long as the key has room for that. So a key that is full keeps
//! one entry out of a class, however many jobs wait behind it, nothing is looked at again until the
//! key has room, and whoever has other keys or none is not held up.
//!
//! Jobs of one key start in their order: where the first of them needs more than is left, those behind it wait,
//! or a heavy job would wait for ever. Which jobs are listed follows from the facts alone, so it is the same
//! after a restart.

mod key;
mod lane;
mod view;

use std::sync::Arc;

use super::FixedMap;
use super::classes::{ClassNo, Classes, Place};
use super::names::Names;
use crate::model::{JobNo, KeyLimit, KeySet, KeyUse, Name};

use key::Key;
use lane::Lane;

index_number!(
    /// A key that some job has, by its place in the list.
    KeyNo
);

index_number!(
    /// Ready jobs of one class with the same keys, by their place in the list.
    LaneNo
);

#[derive(Debug, Default)]
pub(crate) struct Gates {
    names: Names<Name, KeyNo>,
    keys: Slots<Key>,
    by_keys: FixedMap<(ClassNo, Arc<KeySet>), LaneNo>,
    lanes: Slots<Lane>,
    /// Jobs in lanes.
    waiting: u64,
    /// Those of them that are among the ready jobs of their class.
    listed: u64,
}

/// What keeps the jobs of a key, for those who ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) used: u64,
    /// How much may be taken for this job to start.
    pub(crate) limit: u64,
}

impl Gates {
    /// Ready jobs that are not listed with their class.
    pub(crate) fn kept_back(&self) -> u64 {
        self.waiting - self.listed
    }

    /// The job waits for its moment or a worker from now on, or is placed.
    pub(crate) fn enter(&mut self, limits: &[KeyLimit], keys: &Arc<KeySet>, job: JobNo) {
        for each in keys.uses() {
            let no = self.key_no(limits, keys, each);
            let key = self.keys.get_mut(no.index());
            if key.present.insert(job) {
                key.present_weight += u64::from(each.weight.get());
            }
        }
    }

    /// It has ended.
    pub(crate) fn leave(&mut self, keys: &KeySet, job: JobNo) {
        for each in keys.uses() {
            let Some(no) = self.names.get(&each.key).copied() else { continue };
            let key = self.keys.get_mut(no.index());
            if key.present.remove(job) {
                key.present_weight -= u64::from(each.weight.get());
            }
            if key.present.is_empty() {
                self.keys.remove(no.index());
                self.names.remove(&each.key);
            }
        }
    }

    fn key_no(&mut self, limits: &[KeyLimit], keys: &Arc<KeySet>, each: &KeyUse) -> KeyNo {
        if let Some(no) = self.names.get(&each.key) {
            return *no;
        }
        let no = KeyNo::at(self.keys.insert(Key::new(KeyLimit::find(limits, &each.key), keys)));
        self.names.insert(each.key.clone(), no);
        no
    }

    fn find(&self, key: &Name) -> &Key {
        let no = self.names.get(key).copied().expect("a job that is present has entered its keys");
        self.keys.get(no.index())
    }

    /// A copy of these keys that is there already.
    pub(crate) fn shared(&self, keys: &Arc<KeySet>) -> Option<Arc<KeySet>> {
        let first = self.names.get(&keys.uses().first()?.key).copied()?;
        let known = &self.keys.get(first.index()).shared;
        (known == keys).then(|| known.clone())
    }

    /// A job is ready.
    pub(crate) fn push(
        &mut self,
        classes: &mut Classes,
        class: ClassNo,
        keys: &Arc<KeySet>,
        place: Place,
    ) {
        let lane = self.lane_no(class, keys);
        self.waiting += u64::from(self.lanes.get_mut(lane.index()).ready.insert(place));
        self.update_lane(classes, lane);
    }

    /// It no longer is, and was not placed.
    pub(crate) fn remove(
        &mut self,
        classes: &mut Classes,
        class: ClassNo,
        keys: &Arc<KeySet>,
        place: Place,
    ) {
        let Some(lane) = self.take_out(class, keys, place) else { return };
        self.update_lane(classes, lane);
        self.drop_empty(lane);
    }

    /// It was ready and is placed.
    pub(crate) fn start(
        &mut self,
        classes: &mut Classes,
        class: ClassNo,
        keys: &Arc<KeySet>,
        place: Place,
    ) {
        let lane = self.take_out(class, keys, place);
        // Before anything is listed: what comes next in the lane need not have room any more.
        if let Some(lane) = lane {
            self.withdraw(lane);
        }
        self.change(classes, keys, true);
        if let Some(lane) = lane {
            self.update_lane(classes, lane);
            self.drop_empty(lane);
        }
    }

    /// It is placed once more.
    pub(crate) fn take(&mut self, classes: &mut Classes, keys: &KeySet) {
        self.change(classes, keys, true);
    }

    /// An attempt has ended.
    pub(crate) fn give_back(&mut self, classes: &mut Classes, keys: &KeySet) {
        self.change(classes, keys, false);
    }

    fn change(&mut self, classes: &mut Classes, keys: &KeySet, more: bool) {
        for each in keys.uses() {
            let Some(no) = self.names.get(&each.key).copied() else { continue };
            let key = self.keys.get_mut(no.index());
            let (before, weight) = (key.used, u64::from(each.weight.get()));
            let after = if more { before.checked_add(weight) } else { before.checked_sub(weight) };
            key.used = after.expect("what is given back was taken");
            let moved = key.beside_between(before, key.used);
            self.settle(classes, no);
            for lane in moved {
                self.update_lane(classes, lane);
            }
        }
    }

    /// The limits of the settings have changed.
    pub(crate) fn set_limits(&mut self, classes: &mut Classes, limits: &[KeyLimit]) {
        let lanes: Vec<LaneNo> = self.lanes.numbers().map(LaneNo::at).collect();
        for lane in &lanes {
            self.unbind(classes, *lane);
        }
        for no in self.keys.numbers().collect::<Vec<_>>() {
            let name = self.name_of(KeyNo::at(no));
            self.keys.get_mut(no).set_limit(KeyLimit::find(limits, &name));
        }
        for lane in &lanes {
            self.bind(*lane);
            self.update_lane(classes, *lane);
        }
    }

    fn name_of(&self, no: KeyNo) -> Name {
        let key = self.keys.get(no.index());
        let is_it = |each: &&KeyUse| self.names.get(&each.key) == Some(&no);
        let found = key.shared.uses().iter().find(is_it);
        found.expect("a key is one of those that it came with").key.clone()
    }

    /// Lists the first of each line of a key that has room for it.
    fn settle(&mut self, classes: &mut Classes, no: KeyNo) {
        let Gates { keys, lanes, listed, .. } = self;
        let key = keys.get_mut(no.index());
        let used = key.used;
        let fits = |(_, lane): (Place, LaneNo)| lanes.get(lane.index()).fits_home(used);
        let heads = key.lines.iter().filter_map(|line| line.heads.first());
        let barrier = heads.filter(|head| !fits(*head)).map(|(place, _)| place).min();
        for line in &mut key.lines {
            let head = line.heads.first().filter(|head| fits(*head)).map(|(place, _)| place);
            let wanted = head.filter(|place| barrier.is_none_or(|barrier| *place < barrier));
            if line.listed == wanted {
                continue;
            }
            if let Some(place) = std::mem::replace(&mut line.listed, wanted) {
                classes.remove(line.class, place);
                *listed -= 1;
            }
            if let Some(place) = wanted {
                classes.push(line.class, place);
                *listed += 1;
            }
        }
        key.lines.retain(|line| !line.heads.is_empty());
    }
}

/// Numbered things, of which a place is given to another once it is free.
#[derive(Debug)]
struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    fn insert(&mut self, item: T) -> usize {
        match self.free.pop() {
            Some(free) => {
                self.slots[free as usize] = Some(item);
                free as usize
            }
            None => {
                self.slots.push(Some(item));
                self.slots.len() - 1
            }
        }
    }

    fn remove(&mut self, index: usize) {
        self.slots[index] = None;
        self.free.push(u32::try_from(index).expect("lists are bounded by the jobs"));
    }

    fn get(&self, index: usize) -> &T {
        self.slots[index].as_ref().expect("numbers are of what is there")
    }

    fn get_mut(&mut self, index: usize) -> &mut T {
        self.slots[index].as_mut().expect("numbers are of what is there")
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| slot.as_ref().map(|_| index))
    }
}
