//! A queue that can be frozen like a [`super::table::Table`]: it goes on changing, and shows what it
//! held at that moment to whoever walks it in order.

use std::collections::VecDeque;

use crate::freeze::Moment;

#[derive(Debug)]
pub struct Queue<T> {
    items: VecDeque<T>,
    /// How many have left it: the number of the first item.
    first: u64,
    frozen: Option<Frozen<T>>,
}

#[derive(Debug)]
struct Frozen<T> {
    /// Nobody will look at numbers before this one any more.
    from: u64,
    /// This one and what follows came later.
    end: u64,
    /// What has left the queue since, from number `from` on.
    kept: VecDeque<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { items: VecDeque::new(), first: 0, frozen: None }
    }
}

impl<T: Clone> Queue<T> {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn front(&self) -> Option<&T> {
        self.items.front()
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        self.items.get(index)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    pub fn push_back(&mut self, item: T) {
        self.items.push_back(item);
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        if let Some(frozen) = &mut self.frozen
            && (frozen.from..frozen.end).contains(&self.first)
        {
            frozen.kept.push_back(item.clone());
        }
        self.first += 1;
        Some(item)
    }

    /// From now on [`Queue::iter_at`] shows what the queue holds at this moment, until
    /// [`Queue::thaw`].
    pub(crate) fn freeze(&mut self) {
        let end = self.first + self.items.len() as u64;
        self.frozen = Some(Frozen { from: self.first, end, kept: VecDeque::new() });
    }

    pub(crate) fn thaw(&mut self) {
        self.frozen = None;
    }

    /// What is before this number has been seen, and need not be kept.
    pub(crate) fn seen_before(&mut self, number: u64) {
        if let Some(frozen) = &mut self.frozen {
            let passed = usize::try_from(number.saturating_sub(frozen.from)).unwrap_or(usize::MAX);
            frozen.kept.drain(..passed.min(frozen.kept.len()));
            frozen.from = frozen.from.max(number);
        }
    }

    /// What is or was there, from this number on, each with its number.
    pub fn iter_at(&self, moment: Moment, number: u64) -> impl Iterator<Item = (u64, &T)> {
        let (from, end, kept) = match &self.frozen {
            Some(frozen) if moment == Moment::Frozen => {
                (frozen.from, frozen.end, Some(&frozen.kept))
            }
            _ => (self.first, u64::MAX, None),
        };
        let number = number.max(from);
        let skipped =
            |first: u64| usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let (kept_skipped, skipped) = (skipped(from), skipped(self.first));
        let kept = kept.into_iter().flatten().skip(kept_skipped);
        (number..end).zip(kept.chain(self.items.iter().skip(skipped)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(queue: &Queue<u64>, from: u64, count: usize) -> Vec<(u64, u64)> {
        queue
            .iter_at(Moment::Frozen, from)
            .take(count)
            .map(|(number, item)| (number, *item))
            .collect()
    }

    #[test]
    fn a_frozen_queue_shows_what_it_held_whatever_happens_meanwhile() {
        let mut queue = Queue::default();
        (0..100).for_each(|n| queue.push_back(n));
        (0..30).for_each(|_| assert!(queue.pop_front().is_some()));
        let before = seen(&queue, 0, usize::MAX);
        queue.freeze();
        let mut shown = seen(&queue, 0, 20);
        queue.seen_before(50);
        // Some leave that were seen, some that were not, and some come.
        (0..35).for_each(|_| assert!(queue.pop_front().is_some()));
        (100..200).for_each(|n| queue.push_back(n));
        shown.extend(seen(&queue, 50, 10));
        queue.seen_before(60);
        (0..100).for_each(|_| assert!(queue.pop_front().is_some()));
        shown.extend(seen(&queue, 60, usize::MAX));
        assert_eq!(shown, before);
        queue.thaw();
        assert!(queue.iter_at(Moment::Frozen, 0).map(|(_, n)| *n).eq(165..200));
    }
}
