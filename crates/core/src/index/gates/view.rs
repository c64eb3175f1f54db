//! What is asked of the keys: whether there is room, whom they concern.

use super::lane::{Room, Use, limit_of};
use super::{Gate, Gates, Key};
use crate::index::classes::Place;
use crate::model::{JobNo, KeySet, KeyUse, Name, OnLimit};

/// A key as one job sees it when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crowd {
    /// More than is allowed is there, this job with it.
    pub(crate) is_over: bool,
    pub(crate) on_limit: OnLimit,
}

impl Gates {
    /// Whether one more attempt of a job with these keys may start.
    pub(crate) fn have_room(&self, keys: &KeySet) -> bool {
        keys.uses().iter().all(|each| {
            let key = self.find(&each.key);
            self.gate(key, each).is_none_or(|gate| has_room(gate, each))
        })
    }

    /// The key that keeps a ready job, and how much of it is taken; none if a worker is all it waits for.
    pub(crate) fn keeping<'a>(&self, keys: &'a KeySet, place: Place) -> Option<(&'a KeyUse, Gate)> {
        let gated = |each: &'a KeyUse| {
            let key = self.find(&each.key);
            Some((each, self.gate(key, each)?))
        };
        let full = keys.uses().iter().filter_map(gated).find(|(each, gate)| !has_room(*gate, each));
        full.or_else(|| {
            keys.uses().iter().filter_map(gated).find(|(each, _)| {
                // Somebody ahead needs more than is left.
                let key = self.find(&each.key);
                let heads = key.lines.iter().filter_map(|line| line.heads.first());
                let mut first = heads.filter(|(ahead, _)| *ahead < place);
                first.any(|(_, lane)| !self.lanes.get(lane.index()).fits_home(key.used))
            })
        })
    }

    /// Jobs of lanes for which one of the keys has no room.
    pub(crate) fn kept_by_keys(&self) -> u64 {
        let lanes = self.lanes.numbers().map(|number| self.lanes.get(number));
        let kept = lanes.filter(|lane| {
            let fits = |each: &Use| each.fits(self.keys.get(each.key.index()).used);
            !lane.uses.iter().all(fits)
        });
        kept.map(|lane| lane.ready.len() as u64).sum()
    }

    fn gate(&self, key: &Key, each: &KeyUse) -> Option<Gate> {
        limit_of(key, each).map(|limit| Gate { used: key.used, limit: limit.into() })
    }

    /// Jobs with this key that wait for their moment or a worker, or are placed; oldest first.
    pub(crate) fn present(&self, key: &Name) -> impl Iterator<Item = JobNo> {
        let known = self.names.get(key).map(|no| self.keys.get(no.index()));
        known.into_iter().flat_map(|key| key.present.iter())
    }

    /// What there is of a key, and what that means for a job which is there already.
    pub(crate) fn crowd(&self, each: &KeyUse) -> Option<Crowd> {
        let key = self.names.get(&each.key).map(|no| self.keys.get(no.index()))?;
        let limit = limit_of(key, each)?;
        Some(Crowd {
            is_over: key.present.len() > 1 && key.present_weight > u64::from(limit),
            on_limit: each.on_limit.unwrap_or(key.on_limit),
        })
    }
}

fn has_room(gate: Gate, each: &KeyUse) -> bool {
    Room::of(u32::try_from(gate.limit).ok(), each.weight.get()).is_left(gate.used)
}
