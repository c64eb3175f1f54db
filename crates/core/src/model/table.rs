//! A map from numbers that only grow to values, kept in pages: look-ups are two array accesses,
//! iteration is in order, and the memory of forgotten ranges is given back.
//!
//! A table can be frozen: it goes on changing, and shows what it held at that moment to whoever walks
//! it in order. A value that changes before the walk has come to it is copied first.

use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;

use crate::freeze::Moment;

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
    frozen: Option<Box<Frozen<V>>>,
    key: PhantomData<K>,
}

#[derive(Debug)]
struct Frozen<V> {
    /// Nobody will look at positions before this one any more.
    from: u64,
    /// What is behind this one came later.
    last: u64,
    /// What has changed since, as it was; none where nothing was.
    kept: BTreeMap<u64, Option<V>>,
}

impl<V: Clone> Frozen<V> {
    /// The value at this position is about to change.
    fn keep(&mut self, position: u64, value: Option<&V>) {
        if (self.from..=self.last).contains(&position) {
            self.kept.entry(position).or_insert_with(|| value.cloned());
        }
    }
}

impl<K: Key, V> Default for Table<K, V> {
    fn default() -> Self {
        Table { first_page: 0, pages: VecDeque::new(), live: 0, frozen: None, key: PhantomData }
    }
}

impl<K: Key, V: Clone> Table<K, V> {
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
        let value = self.pages.get_mut(page)?.as_mut()?.slots[slot].as_deref_mut()?;
        if let Some(frozen) = &mut self.frozen {
            frozen.keep(key.position(), Some(value));
        }
        Some(value)
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
        if let Some(frozen) = &mut self.frozen {
            frozen.keep(key.position(), slot.as_deref());
        }
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
        if let Some(frozen) = &mut self.frozen {
            frozen.keep(key.position(), Some(&value));
        }
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
        self.iter_from(0)
    }

    /// From this position on.
    fn iter_from(&self, position: u64) -> impl Iterator<Item = (K, &V)> {
        let skipped = (position / PAGE as u64).saturating_sub(self.first_page);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX).min(self.pages.len());
        let first = self.first_page + skipped as u64;
        self.pages
            .range(skipped..)
            .enumerate()
            .filter_map(move |(i, p)| Some((first + i as u64, p.as_ref()?)))
            .flat_map(move |(page, p)| {
                let start = page * PAGE as u64;
                let slots = usize::try_from(position.saturating_sub(start)).unwrap_or(PAGE);
                p.slots.iter().enumerate().skip(slots).filter_map(move |(slot, value)| {
                    Some((K::at(start + slot as u64), value.as_deref()?))
                })
            })
    }

    /// From now on [`Table::iter_at`] shows what the table holds at this moment, until
    /// [`Table::thaw`].
    pub(crate) fn freeze(&mut self) {
        let behind = self.first_page + self.pages.len() as u64;
        let last = (behind * PAGE as u64).saturating_sub(1);
        self.frozen = Some(Box::new(Frozen { from: 0, last, kept: BTreeMap::new() }));
    }

    pub(crate) fn thaw(&mut self) {
        self.frozen = None;
    }

    /// What is before this position has been seen, and need not be kept.
    pub(crate) fn seen_before(&mut self, position: u64) {
        if let Some(frozen) = &mut self.frozen {
            frozen.from = position;
            while frozen.kept.first_entry().is_some_and(|entry| *entry.key() < position) {
                frozen.kept.pop_first();
            }
        }
    }

    /// What is or was there, in order, from this position on.
    pub fn iter_at(&self, moment: Moment, position: u64) -> impl Iterator<Item = (K, &V)> {
        let frozen = self.frozen.as_deref().filter(|_| moment == Moment::Frozen);
        let last = frozen.map_or(u64::MAX, |frozen| frozen.last);
        let present = self.iter_from(position).take_while(move |(key, _)| key.position() <= last);
        let mut present = present.peekable();
        let mut kept = frozen.into_iter().flat_map(move |f| f.kept.range(position..)).peekable();
        std::iter::from_fn(move || {
            loop {
                let next = present.peek().map(|(key, _)| key.position());
                let changed = match (next, kept.peek()) {
                    (next, Some((at, _))) if next.is_none_or(|next| **at <= next) => **at,
                    _ => return present.next(),
                };
                if next == Some(changed) {
                    present.next();
                }
                if let Some((at, Some(value))) = kept.next() {
                    return Some((K::at(*at), value));
                }
            }
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

    /// What a walk shows that goes on while the table changes.
    fn seen(table: &Table<JobNo, u64>, from: u64, count: usize) -> Vec<(u64, u64)> {
        table
            .iter_at(Moment::Frozen, from)
            .take(count)
            .map(|(key, value)| (key.0, *value))
            .collect()
    }

    #[test]
    fn a_frozen_table_shows_what_it_held_whatever_happens_meanwhile() {
        let mut table = Table::default();
        for n in (1..=2_000).filter(|n| n % 3 != 0) {
            table.insert(JobNo(n), n);
        }
        let before: Vec<_> = seen(&table, 0, usize::MAX);
        table.freeze();
        let mut shown = seen(&table, 0, 701);
        let next = shown.last().expect("there are more than that").0 + 1;
        table.seen_before(next);
        // Seen already, changed twice, removed with its whole page, and new in a gap and at the end.
        *table.get_mut(JobNo(1)).expect("it is there") = 9;
        *table.get_mut(JobNo(next)).expect("it is there") = 9;
        *table.get_mut(JobNo(next)).expect("it is there") = 10;
        for n in 1_200..=1_900 {
            table.remove(JobNo(n));
        }
        table.insert(JobNo(1_202), 9);
        table.insert(JobNo(1_500), 9);
        table.insert(JobNo(9_000), 9);
        shown.extend(seen(&table, next, usize::MAX));
        assert_eq!(shown, before);
        assert_eq!(table.iter_at(Moment::Present, 0).count(), table.len());
        table.thaw();
        assert_eq!(table.iter_at(Moment::Frozen, 0).count(), table.len());
        assert_eq!(table.iter_at(Moment::Frozen, 0).last(), Some((JobNo(9_000), &9)));
    }
}
