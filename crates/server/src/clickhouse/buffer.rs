//! Rows on their way. The oldest give way to the newest.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::row::Row;
use crate::metrics::{Metrics, Sink, SinkCounts};

/// Rows that are worth a batch before its time has come.
const HASTE_ROWS: usize = 20_000;

#[derive(Debug)]
pub(super) struct Buffer {
    // Two threads meet here: one that makes rows and one that sends them, both off the loop.
    waiting: Mutex<Waiting>,
    rows_max: usize,
    changed: Notify,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Waiting {
    rows: VecDeque<Row>,
    closed: bool,
}

impl Buffer {
    pub(super) fn new(rows_max: usize, metrics: Arc<Metrics>) -> Buffer {
        Buffer { waiting: Mutex::default(), rows_max, changed: Notify::new(), metrics }
    }

    pub(super) fn counts(&self) -> &SinkCounts {
        self.metrics.sinks.of(Sink::ClickHouse)
    }

    /// Takes all of these, and leaves the vector empty.
    pub(super) fn push(&self, rows: &mut Vec<Row>) {
        let mut waiting = self.lock();
        waiting.rows.extend(rows.drain(..));
        let over = waiting.rows.len().saturating_sub(self.rows_max);
        waiting.rows.drain(..over);
        self.settle(waiting, over);
    }

    /// Gives back rows that could not be sent, unless newer ones have taken their place.
    pub(super) fn put_back(&self, rows: Vec<Row>) {
        let mut waiting = self.lock();
        let room = self.rows_max.saturating_sub(waiting.rows.len());
        let over = rows.len().saturating_sub(room);
        for row in rows.into_iter().skip(over).rev() {
            waiting.rows.push_front(row);
        }
        self.settle(waiting, over);
    }

    fn settle(&self, waiting: MutexGuard<'_, Waiting>, dropped: usize) {
        let counts = self.counts();
        counts.dropped.fetch_add(dropped as u64, Ordering::Relaxed);
        counts.waiting.store(waiting.rows.len() as u64, Ordering::Relaxed);
        let wake = waiting.rows.len() >= HASTE_ROWS;
        drop(waiting);
        if wake {
            self.changed.notify_one();
        }
    }

    /// The oldest, at most so many.
    pub(super) fn take(&self, rows_max: usize) -> Vec<Row> {
        let mut waiting = self.lock();
        let count = waiting.rows.len().min(rows_max);
        let rows = waiting.rows.drain(..count).collect();
        self.counts().waiting.store(waiting.rows.len() as u64, Ordering::Relaxed);
        rows
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn is_ripe(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || waiting.rows.len() >= HASTE_ROWS
    }

    /// Returns when the time is up, sooner if there is enough to do, or when it is over.
    pub(super) async fn ripen(&self, within: Duration) {
        let enough = async {
            loop {
                let changed = self.changed.notified();
                if self.is_ripe() {
                    return;
                }
                changed.await;
            }
        };
        // Both ends are good ones.
        drop(tokio::time::timeout(within, enough).await);
    }

    /// Returns when the time is up, sooner only if it is over.
    pub(super) async fn rest(&self, pause: Duration) {
        let closed = async {
            while !self.is_closed() {
                self.changed.notified().await;
            }
        };
        // Both ends are good ones.
        drop(tokio::time::timeout(pause, closed).await);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
