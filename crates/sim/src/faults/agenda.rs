//! What is going to happen, in order of virtual time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things due at moments; those of one moment come out in the order in which they went in.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    heap: BinaryHeap<Due<T>>,
    added: u64,
}

#[derive(Debug)]
struct Due<T> {
    at: u64,
    order: u64,
    what: T,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { heap: BinaryHeap::new(), added: 0 }
    }
}

impl<T> Agenda<T> {
    pub(crate) fn add(&mut self, at: u64, what: T) {
        self.heap.push(Due { at, order: self.added, what });
        self.added += 1;
    }

    pub(crate) fn next(&mut self) -> Option<(u64, T)> {
        self.heap.pop().map(|due| (due.at, due.what))
    }
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Due<T> {}

impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Due<T> {
    // Reversed: the heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_first_comes_first_and_ties_keep_their_order() {
        let mut agenda = Agenda::default();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            agenda.add(at, what);
        }
        let order: Vec<_> = std::iter::from_fn(|| agenda.next()).map(|(_, what)| what).collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
    }
}
