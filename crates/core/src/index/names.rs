//! A map from names for look-ups, in many small parts: to grow a table of millions would hold the engine
//! up for a tenth of a second, and so would clearing it of what was removed.

use std::borrow::Borrow;
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

const PARTS: usize = 256;

#[derive(Debug)]
pub(crate) struct Names<K, V> {
    parts: Box<[HashTable<(K, V)>]>,
}

impl<K, V> Default for Names<K, V> {
    fn default() -> Self {
        Names { parts: (0..PARTS).map(|_| HashTable::new()).collect() }
    }
}

impl<K: Borrow<str>, V> Names<K, V> {
    pub(crate) fn get(&self, name: &(impl Borrow<str> + ?Sized)) -> Option<&V> {
        let (name, hash) = (name.borrow(), hash_of(name.borrow()));
        let found = self.parts[part(hash)].find(hash, |(other, _)| other.borrow() == name);
        found.map(|(_, value)| value)
    }

    pub(crate) fn contains(&self, name: &K) -> bool {
        self.get(name).is_some()
    }

    /// In place of what was there.
    pub(crate) fn insert(&mut self, name: K, value: V) {
        let hash = hash_of(name.borrow());
        let part = &mut self.parts[part(hash)];
        match part.find_mut(hash, |(other, _)| other.borrow() == name.borrow()) {
            Some(found) => found.1 = value,
            None => {
                part.insert_unique(hash, (name, value), |(name, _)| hash_of(name.borrow()));
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &(impl Borrow<str> + ?Sized)) {
        let (name, hash) = (name.borrow(), hash_of(name.borrow()));
        if let Ok(found) =
            self.parts[part(hash)].find_entry(hash, |(other, _)| other.borrow() == name)
        {
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
