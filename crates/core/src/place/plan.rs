//! What is laid out for the jobs of runs that wait for a busy worker.
//!
//! Jobs are looked at in order, and each takes the slot that would finish it soonest, free or busy. One
//! that waits for a busy slot moves the moment at which that slot is free for the next, so a fast
//! worker is waited for by as many jobs as it can do before a slow one would be done with the first.
//! Nothing of it is kept: the plan is made anew for each decision.

use smallvec::SmallVec;

use crate::index::groups::{Group, GroupNo};
use crate::model::{Micros, Timestamp};

/// Slots of one group that are looked at: of a larger one, those that come free first.
const SLOTS_MAX: usize = 64;

/// How long until slots are free, the soonest first.
type Waits = SmallVec<[Micros; 8]>;

#[derive(Debug, Default)]
pub(crate) struct Plan {
    groups: SmallVec<[(GroupNo, Waits); 4]>,
    /// Jobs that wait for a busy worker.
    pub(crate) held: usize,
}

impl Plan {
    /// How long until a slot of the group that is busy now is free for another job; none if there is
    /// no such slot.
    pub(crate) fn wait(&mut self, no: GroupNo, group: &Group, now: Timestamp) -> Option<Micros> {
        if let Some(waits) = self.waits(no) {
            return waits.first().copied();
        }
        let waits: Waits = group.coming_free(now).map(|(wait, ..)| wait).take(SLOTS_MAX).collect();
        let soonest = waits.first().copied();
        self.groups.push((no, waits));
        soonest
    }

    /// A job that takes this long waits for the next slot of the group.
    pub(crate) fn reserve(&mut self, no: GroupNo, duration: Micros) {
        self.held += 1;
        let Some(waits) = self.waits(no) else { return };
        if waits.is_empty() {
            return;
        }
        let free_again = waits.remove(0) + duration;
        let position = waits.partition_point(|wait| *wait <= free_again);
        waits.insert(position, free_again);
    }

    fn waits(&mut self, no: GroupNo) -> Option<&mut Waits> {
        self.groups.iter_mut().find(|(other, _)| *other == no).map(|(_, waits)| waits)
    }
}
