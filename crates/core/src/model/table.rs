//! A map from numbers that only grow to values, kept in pages: look-ups are two array accesses,
//! iteration is in order, and the memory of forgotten ranges is given back.

use std::collections::VecDeque;
use std::marker::PhantomData;

const PAGE: usize = 256;

/// A number handed out in order, from 1.
pub trait Key: Copy {
    fn position(self) -> u64;
    fn at(position: u64) -> Self;
}

impl Key for super::JobNo {
    fn position(self) -> u64 {
        self.0
    }
    fn at(position: u64) -> Self {
        super::JobNo(position)
    }
}

impl Key for super::RunNo {
    fn position(self) -> u64 {
        self.0
    }
    fn at(position: u64) -> Self {
        super::RunNo(position)
    }
}

impl Key for super::WorkerNo {
    fn position(self) -> u64 {
        u64::from(self.0)
    }
    fn at(position: u64) -> Self {
        super::WorkerNo(u32::try_from(position).expect("worker numbers fit 32 bits"))
    }
}

#[derive(Debug)]
struct Page<V> {
    live: usize,
    slots: Vec<Option<Box<V>>>,
}

#[derive(Debug)]
pub struct Table<K, V> {
    first_page: u64,
    pages: VecDeque<Option<Page<V>>>,
    live: usize,
    key: PhantomData<K>,
}

impl<K: Key, V> Default for Table<K, V> {
    fn default() -> Self {
        Table { first_page: 0, pages: VecDeque::new(), live: 0, key: PhantomData }
    }
}

impl<K: Key, V> Table<K, V> {
    pub fn len(&self) -> usize {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        let (page, slot) = self.locate(key)?;
        self.pages.get(page)?.as_ref()?.slots[slot].as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let (page, slot) = self.locate(key)?;
        self.pages.get_mut(page)?.as_mut()?.slots[slot].as_deref_mut()
    }

    pub fn insert(&mut self, key: K, value: V) {
        let wanted = key.position() / PAGE as u64;
        if self.pages.is_empty() {
            self.first_page = wanted;
        }
        while wanted < self.first_page {
            self.pages.push_front(None);
            self.first_page -= 1;
        }
        let page = (wanted - self.first_page) as usize;
        while self.pages.len() <= page {
            self.pages.push_back(None);
        }
        let page = self.pages[page].get_or_insert_with(|| {
            let slots = std::iter::repeat_with(|| None).take(PAGE).collect();
            Page { live: 0, slots }
        });
        let slot = &mut page.slots[(key.position() % PAGE as u64) as usize];
        if slot.is_none() {
            page.live += 1;
            self.live += 1;
        }
        *slot = Some(Box::new(value));
    }

    pub fn remove(&mut self, key: K) -> Option<V> {
        let (index, slot) = self.locate(key)?;
        let page = self.pages.get_mut(index)?.as_mut()?;
        let value = page.slots[slot].take()?;
        page.live -= 1;
        self.live -= 1;
        if page.live == 0 {
            self.pages[index] = None;
            while let Some(None) = self.pages.front() {
                self.pages.pop_front();
                self.first_page += 1;
            }
        }
        Some(*value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        let first = self.first_page;
        self.pages
            .iter()
            .enumerate()
            .filter_map(move |(i, p)| Some((first + i as u64, p.as_ref()?)))
            .flat_map(|(page, p)| {
                p.slots.iter().enumerate().filter_map(move |(slot, value)| {
                    Some((K::at(page * PAGE as u64 + slot as u64), value.as_deref()?))
                })
            })
    }

    pub fn keys(&self) -> impl Iterator<Item = K> {
        self.iter().map(|(key, _)| key)
    }

    #[inline]
    fn locate(&self, key: K) -> Option<(usize, usize)> {
        let page = (key.position() / PAGE as u64).checked_sub(self.first_page)?;
        Some((page as usize, (key.position() % PAGE as u64) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::JobNo;

    #[test]
    fn forgotten_ranges_give_their_pages_back() {
        let mut table = Table::default();
        for n in 1..=2_000 {
            table.insert(JobNo(n), n);
        }
        for n in 1..=1_990 {
            assert_eq!(table.remove(JobNo(n)), Some(n));
        }
        assert_eq!(table.len(), 10);
        assert_eq!(table.pages.len(), 1);
        assert_eq!(table.get(JobNo(3)), None);
        assert_eq!(table.get(JobNo(1_995)), Some(&1_995));
        table.insert(JobNo(5), 5);
        assert_eq!(table.keys().next(), Some(JobNo(5)));
    }
}
