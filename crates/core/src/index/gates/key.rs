//! One key: how much of it is taken, and who waits for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::super::classes::{ClassNo, Place};
use super::super::sorted::Sorted;
use super::LaneNo;
use super::lane::Room;
use crate::model::{JobNo, KeyLimit, KeySet, OnLimit};

#[derive(Debug)]
pub(super) struct Key {
    /// The keys of the job that it came with, which are those of many.
    pub(super) shared: Arc<KeySet>,
    /// Taken by attempts that have not ended, in weights.
    pub(super) used: u64,
    /// Of the settings.
    pub(super) max: Option<u32>,
    pub(super) on_limit: OnLimit,
    /// The settings name it: there is one such key, and many lanes may share it.
    pub(super) is_exact: bool,
    /// Jobs that wait for their moment or a worker, or are placed.
    pub(super) present: Sorted<JobNo>,
    /// Their weights.
    pub(super) present_weight: u64,
    /// Lanes that are at home here, by class.
    pub(super) lines: SmallVec<[Line; 1]>,
    /// Other lanes with this key, by how much may be taken of it for them to start.
    pub(super) beside: BTreeSet<(Room, LaneNo)>,
}

/// Lanes of one class, by their first jobs.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) class: ClassNo,
    pub(super) heads: Sorted<(Place, LaneNo)>,
    /// Its first, once it is among the ready jobs of the class.
    pub(super) listed: Option<Place>,
}

impl Key {
    pub(super) fn new(limit: Option<&KeyLimit>, keys: &Arc<KeySet>) -> Key {
        let mut key = Key {
            shared: keys.clone(),
            used: 0,
            max: None,
            on_limit: OnLimit::Queue,
            is_exact: false,
            present: Sorted::default(),
            present_weight: 0,
            lines: SmallVec::new(),
            beside: BTreeSet::new(),
        };
        key.set_limit(limit);
        key
    }

    pub(super) fn set_limit(&mut self, limit: Option<&KeyLimit>) {
        self.max = limit.map(|limit| limit.max);
        self.on_limit = limit.map_or(OnLimit::Queue, |limit| limit.on_limit);
        self.is_exact = limit.is_some_and(KeyLimit::is_exact);
    }

    pub(super) fn line_mut(&mut self, class: ClassNo) -> &mut Line {
        let known = self.lines.iter().position(|line| line.class == class);
        let index = known.unwrap_or_else(|| {
            self.lines.push(Line { class, heads: Sorted::default(), listed: None });
            self.lines.len() - 1
        });
        &mut self.lines[index]
    }

    /// Lanes for which this change of what is taken decides.
    pub(super) fn beside_between(&self, before: u64, after: u64) -> SmallVec<[LaneNo; 4]> {
        if self.beside.is_empty() {
            return SmallVec::new();
        }
        let (low, high) = (Room::at(before.min(after)), Room::at(before.max(after)));
        let first = LaneNo::at(0);
        self.beside.range((low, first)..(high, first)).map(|(_, lane)| *lane).collect()
    }
}
