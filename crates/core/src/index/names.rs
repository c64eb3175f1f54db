//! A map from names for look-ups, in many small parts: to grow a table of millions would hold the engine
//! up for a tenth of a second, and so would clearing it of what was removed.

use std::borrow::Borrow;
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::model::Name;

const PARTS: usize = 256;

#[derive(Debug)]
pub(crate) struct Names<V> {
    parts: Box<[HashTable<(Name, V)>]>,
}

impl<V> Default for Names<V> {
    fn default() -> Self {
        Names { parts: (0..PARTS).map(|_| HashTable::new()).collect() }
    }
}

impl<V> Names<V> {
    pub(crate) fn get(&self, name: &(impl Borrow<str> + ?Sized)) -> Option<&V> {
        let (name, hash) = (name.borrow(), hash_of(name.borrow()));
        let found = self.parts[part(hash)].find(hash, |(other, _)| other.as_str() == name);
        found.map(|(_, value)| value)
    }

    pub(crate) fn contains(&self, name: &Name) -> bool {
        self.get(name).is_some()
    }

    /// In place of what was there.
    pub(crate) fn insert(&mut self, name: Name, value: V) {
        let hash = hash_of(name.as_str());
        let part = &mut self.parts[part(hash)];
        match part.find_mut(hash, |(other, _)| *other == name) {
            Some(found) => found.1 = value,
            None => {
                part.insert_unique(hash, (name, value), |(name, _)| hash_of(name.as_str()));
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &Name) {
        let hash = hash_of(name.as_str());
        if let Ok(found) = self.parts[part(hash)].find_entry(hash, |(other, _)| other == name) {
            found.remove();
        }
    }
}

fn hash_of(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// By bits that a part does not use itself.
fn part(hash: u64) -> usize {
    (hash >> 32) as usize % PARTS
}
