//! An ordered set that is mostly of one: the first costs no memory of its own.

use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(crate) struct Sorted<T> {
    first: Option<T>,
    /// All of it is behind the first.
    rest: BTreeSet<T>,
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Sorted { first: None, rest: BTreeSet::new() }
    }
}

impl<T: Ord + Copy> Sorted<T> {
    pub(crate) fn first(&self) -> Option<T> {
        self.first
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// False if it was there.
    pub(crate) fn insert(&mut self, item: T) -> bool {
        match self.first {
            None => {
                self.first = Some(item);
                true
            }
            Some(first) if item == first => false,
            Some(first) if item < first => {
                self.first = Some(item);
                self.rest.insert(first)
            }
            Some(_) => self.rest.insert(item),
        }
    }

    /// False if it was not there.
    pub(crate) fn remove(&mut self, item: T) -> bool {
        if self.first == Some(item) {
            self.first = self.rest.pop_first();
            return true;
        }
        self.rest.remove(&item)
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.rest.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_a_set_is() {
        let (mut sorted, mut plain) = (Sorted::default(), BTreeSet::new());
        let mut number = 7u64;
        for _ in 0..2_000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let item = (number >> 33) % 16;
            match number >> 63 {
                0 => assert_eq!(sorted.insert(item), plain.insert(item)),
                _ => assert_eq!(sorted.remove(item), plain.remove(&item)),
            }
            assert_eq!(sorted.first(), plain.first().copied());
            assert_eq!((sorted.len(), sorted.is_empty()), (plain.len(), plain.is_empty()));
            assert!(sorted.iter().eq(plain.iter().copied()));
        }
    }
}
