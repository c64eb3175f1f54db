//! What is on its way to another system. The oldest give way to the newest.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::sinks::metrics::{Metrics, Sink, SinkCounts};

/// So many are worth a batch before its time has come.
const HASTE: usize = 20_000;

#[derive(Debug)]
pub(crate) struct Buffer<T> {
    // Two threads meet here: one that makes them and one that sends them, both off the loop.
    waiting: Mutex<Waiting<T>>,
    items_max: usize,
    changed: Notify,
    sink: Sink,
    metrics: Arc<Metrics>,
}

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T> Buffer<T> {
    pub(crate) fn new(sink: Sink, items_max: usize, metrics: Arc<Metrics>) -> Buffer<T> {
        let waiting = Mutex::new(Waiting { items: VecDeque::new(), closed: false });
        Buffer { waiting, items_max, changed: Notify::new(), sink, metrics }
    }

    pub(crate) fn counts(&self) -> &SinkCounts {
        self.metrics.sinks.of(self.sink)
    }

    /// Takes all of these, and leaves the vector empty.
    pub(crate) fn push(&self, items: &mut Vec<T>) {
        let mut waiting = self.lock();
        waiting.items.extend(items.drain(..));
        let over = waiting.items.len().saturating_sub(self.items_max);
        waiting.items.drain(..over);
        self.settle(waiting, over);
    }

    /// Gives back what could not be sent, unless newer ones have taken their place.
    pub(crate) fn put_back(&self, items: Vec<T>) {
        let mut waiting = self.lock();
        let room = self.items_max.saturating_sub(waiting.items.len());
        let over = items.len().saturating_sub(room);
        for item in items.into_iter().skip(over).rev() {
            waiting.items.push_front(item);
        }
        self.settle(waiting, over);
    }

    fn settle(&self, waiting: MutexGuard<'_, Waiting<T>>, dropped: usize) {
        let counts = self.counts();
        counts.dropped.fetch_add(dropped as u64, Ordering::Relaxed);
        counts.waiting.store(waiting.items.len() as u64, Ordering::Relaxed);
        let wake = self.is_much(&waiting);
        drop(waiting);
        if wake {
            self.changed.notify_one();
        }
    }

    /// The oldest, at most so many.
    pub(crate) fn take(&self, count_max: usize) -> Vec<T> {
        let mut waiting = self.lock();
        let count = waiting.items.len().min(count_max);
        let items = waiting.items.drain(..count).collect();
        self.counts().waiting.store(waiting.items.len() as u64, Ordering::Relaxed);
        items
    }

    /// Forgets all but the newest, which somebody else sends.
    pub(crate) fn keep(&self, count: usize) {
        let mut waiting = self.lock();
        let over = waiting.items.len().saturating_sub(count);
        waiting.items.drain(..over);
        self.counts().waiting.store(waiting.items.len() as u64, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn has_batch(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || self.is_much(&waiting)
    }

    fn is_much(&self, waiting: &Waiting<T>) -> bool {
        waiting.items.len() >= HASTE.min(self.items_max / 2)
    }

    /// Returns when the time is up, sooner if there is enough to do, or when it is over.
    pub(crate) async fn wait_for_batch(&self, within: Duration) {
        let enough = async {
            loop {
                let changed = self.changed.notified();
                if self.has_batch() {
                    return;
                }
                changed.await;
            }
        };
        // Both ends are good ones.
        drop(tokio::time::timeout(within, enough).await);
    }

    /// Returns when the time is up, sooner only if it is over.
    pub(crate) async fn rest(&self, pause: Duration) {
        let closed = async {
            while !self.is_closed() {
                self.changed.notified().await;
            }
        };
        // Both ends are good ones.
        drop(tokio::time::timeout(pause, closed).await);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
