//! Ready jobs of one class with the same keys, as one.

use std::sync::Arc;

use smallvec::SmallVec;

use super::super::classes::{ClassNo, Classes, Place};
use super::super::sorted::Sorted;
use super::{Gates, Key, KeyNo, LaneNo};
use crate::model::{KeySet, KeyUse};

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) class: ClassNo,
    pub(super) keys: Arc<KeySet>,
    pub(super) uses: SmallVec<[Use; 1]>,
    /// Which of them is its home.
    home: usize,
    pub(super) ready: Sorted<Place>,
    /// The place that it has in the line of its home.
    stands: Option<Place>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    pub(super) key: KeyNo,
    pub(super) room: Room,
}

impl Use {
    pub(super) fn fits(self, used: u64) -> bool {
        self.room.is_left(used)
    }
}

/// How much may be taken of a key for a job to start; below 0 it never may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Room(i64);

impl Room {
    pub(super) fn of(limit: Option<u32>, weight: u32) -> Room {
        match limit {
            None => Room(i64::MAX),
            Some(0) => Room(-1),
            // What is heavier than the limit starts alone.
            Some(limit) => Room(limit.saturating_sub(weight).into()),
        }
    }

    /// All of it is taken by so much.
    pub(super) fn at(used: u64) -> Room {
        Room(i64::try_from(used).unwrap_or(i64::MAX))
    }

    pub(super) fn is_left(self, used: u64) -> bool {
        Room::at(used) <= self
    }
}

/// The smaller one of the job's own and that of the settings.
pub(super) fn limit_of(key: &Key, each: &KeyUse) -> Option<u32> {
    [key.max, each.limit.map(Into::into)].into_iter().flatten().min()
}

impl Lane {
    pub(super) fn fits_home(&self, used: u64) -> bool {
        self.uses[self.home].fits(used)
    }

    fn beside(&self) -> impl Iterator<Item = Use> {
        let home = self.home;
        self.uses.iter().enumerate().filter(move |(index, _)| *index != home).map(|(_, each)| *each)
    }
}

impl Gates {
    pub(super) fn lane_no(&mut self, class: ClassNo, keys: &Arc<KeySet>) -> LaneNo {
        // Looked up by a key that costs a reference to make, and no copy.
        let wanted = (class, keys.clone());
        if let Some(no) = self.by_keys.get(&wanted) {
            return *no;
        }
        let lane = Lane {
            class,
            keys: keys.clone(),
            uses: SmallVec::new(),
            home: 0,
            ready: Sorted::default(),
            stands: None,
        };
        let no = LaneNo::at(self.lanes.insert(lane));
        self.by_keys.insert(wanted, no);
        self.bind(no);
        no
    }

    /// Takes a job out of its lane, which is to be updated then.
    pub(super) fn take_out(
        &mut self,
        class: ClassNo,
        keys: &Arc<KeySet>,
        place: Place,
    ) -> Option<LaneNo> {
        let no = *self.by_keys.get(&(class, keys.clone()))?;
        self.waiting -= u64::from(self.lanes.get_mut(no.index()).ready.remove(place));
        Some(no)
    }

    /// Finds out what its keys allow. It stands nowhere yet.
    pub(super) fn bind(&mut self, no: LaneNo) {
        let lane = self.lanes.get(no.index());
        let each = |each: &KeyUse| {
            let key = *self.names.get(&each.key).expect("ready jobs have entered their keys");
            let limit = limit_of(self.keys.get(key.index()), each);
            Use { key, room: Room::of(limit, each.weight.get()) }
        };
        let uses: SmallVec<[Use; 1]> = lane.keys.uses().iter().map(each).collect();
        // The one that most lanes share, because a line of many costs no more than a line of one.
        let is_exact = |each: &Use| self.keys.get(each.key.index()).is_exact;
        let home = uses.iter().position(is_exact).unwrap_or_default();
        let lane = self.lanes.get_mut(no.index());
        (lane.uses, lane.home) = (uses, home);
        let beside: SmallVec<[Use; 4]> = lane.beside().collect();
        for each in beside {
            self.keys.get_mut(each.key.index()).beside.insert((each.room, no));
        }
    }

    /// It stands nowhere, and no key knows of it.
    pub(super) fn unbind(&mut self, classes: &mut Classes, no: LaneNo) {
        self.withdraw(no);
        let lane = self.lanes.get(no.index());
        let home = lane.uses[lane.home].key;
        let beside: SmallVec<[Use; 4]> = lane.beside().collect();
        for each in beside {
            self.keys.get_mut(each.key.index()).beside.remove(&(each.room, no));
        }
        self.settle(classes, home);
    }

    /// Leaves the line of its home, which is to be settled then.
    pub(super) fn withdraw(&mut self, no: LaneNo) {
        let lane = self.lanes.get_mut(no.index());
        let (home, class) = (lane.uses[lane.home].key, lane.class);
        if let Some(place) = lane.stands.take() {
            self.keys.get_mut(home.index()).line_mut(class).heads.remove((place, no));
        }
    }

    /// Stands in the line of its home with its first job, if its other keys have room for that.
    pub(super) fn update_lane(&mut self, classes: &mut Classes, no: LaneNo) {
        let lane = self.lanes.get(no.index());
        let fits = |each: Use| each.fits(self.keys.get(each.key.index()).used);
        let wanted = lane.ready.first().filter(|_| lane.beside().all(fits));
        let (stands, class, home) = (lane.stands, lane.class, lane.uses[lane.home].key);
        if stands == wanted {
            return;
        }
        let line = self.keys.get_mut(home.index()).line_mut(class);
        if let Some(place) = stands {
            line.heads.remove((place, no));
        }
        if let Some(place) = wanted {
            line.heads.insert((place, no));
        }
        self.lanes.get_mut(no.index()).stands = wanted;
        self.settle(classes, home);
    }

    /// A lane without jobs is no lane.
    pub(super) fn drop_empty(&mut self, no: LaneNo) {
        let lane = self.lanes.get(no.index());
        if !lane.ready.is_empty() {
            return;
        }
        let (class, keys) = (lane.class, lane.keys.clone());
        let beside: SmallVec<[Use; 4]> = lane.beside().collect();
        for each in beside {
            self.keys.get_mut(each.key.index()).beside.remove(&(each.room, no));
        }
        self.by_keys.remove(&(class, keys));
        self.lanes.remove(no.index());
    }
}
