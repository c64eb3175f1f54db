//! What was promised and not kept, and when the scheduler was broken on purpose.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// More of them say no more.
const BROKEN_MAX: usize = 50;
/// After a scheduler was killed, stopped or set, so long nothing is timed.
const CALM_AFTER: Duration = Duration::from_secs(5);

/// A lock, because everybody may find something, rarely.
#[derive(Debug, Default)]
pub(super) struct Promises(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    broken: Vec<String>,
    more: u64,
    disturbed: bool,
    last: Option<Instant>,
}

impl Promises {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn broken(&self, promise: String) {
        tracing::error!(promise, "a promise is broken");
        let mut book = self.book();
        if book.broken.len() < BROKEN_MAX {
            book.broken.push(promise);
        } else {
            book.more += 1;
        }
    }

    pub(super) fn all_broken(&self) -> Vec<String> {
        let book = self.book();
        let more = (book.more > 0).then(|| format!("and {} more", book.more));
        book.broken.iter().cloned().chain(more).collect()
    }

    /// From now on times of the scheduler say nothing, until it is over.
    pub(super) fn disturb(&self) {
        self.book().disturbed = true;
    }

    pub(super) fn disturbance_over(&self) {
        let mut book = self.book();
        if std::mem::take(&mut book.disturbed) {
            book.last = Some(Instant::now());
        }
    }

    /// Whether what began then took as long as it takes.
    pub(super) fn is_calm_since(&self, begun: Instant) -> bool {
        let book = self.book();
        !book.disturbed && book.last.is_none_or(|last| last + CALM_AFTER < begun)
    }
}
