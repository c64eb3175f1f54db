//! Events from a position on, then as they happen. Each client reads the journal at its own pace,
//! and all of them together take a share of one thread that gives way, however many they are. One that
//! does not take the next events for long is told so, counted and cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bellwether_core::model::Seq;
use tokio::sync::{Mutex, MutexGuard, mpsc};

use super::{Desk, Unanswered};
use crate::edges::contain::Contained;
use crate::event_loop::Handle;
use crate::projections::history::{Cursor, Seen};

/// Few enough for a message to fit into a processor's cache.
const MESSAGE_EVENTS_MAX: u64 = 256;
const MESSAGES_MAX: usize = 4;
/// How long events gather for one who has seen all that came before.
const GATHER: Duration = Duration::from_millis(10);
/// After a message all rest so many times as long as it took to make, so that followers take little
/// from a scheduler that is busy, and fall behind instead.
const REST_TIMES: u32 = 3;
const REST_MAX: Duration = Duration::from_millis(50);
/// Timers tell no shorter spans apart.
const REST_MIN: Duration = Duration::from_millis(2);

/// Which events somebody wants to see.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventsWanted {
    /// None: from now on.
    pub(crate) from: Option<Seq>,
    /// None of them: all.
    pub(crate) kinds: Vec<String>,
    pub(crate) job: Option<String>,
    pub(crate) run: Option<String>,
    /// Go on as events happen; else it ends with what there is now.
    pub(crate) follow: bool,
}

/// All who follow.
#[derive(Debug)]
pub(crate) struct Audience {
    /// How long one may take to take in the next events.
    patience: Duration,
    /// One at a time makes a message, and all wait for the rest that is owed for it: the share of the
    /// processor that they take is one that they have in common.
    turn: Mutex<Duration>,
    cut_off: AtomicU64,
}

impl Audience {
    pub(crate) fn new(patience: Duration) -> Audience {
        Audience { patience, turn: Mutex::default(), cut_off: AtomicU64::new(0) }
    }

    /// How many were cut off because they were too slow.
    pub(crate) fn cut_off(&self) -> u64 {
        self.cut_off.load(Ordering::Relaxed)
    }

    /// None if whoever listens did not take it in time, which cuts them off.
    pub(crate) async fn within<T>(&self, sent: impl Future<Output = T>) -> Option<T> {
        let sent = tokio::time::timeout(self.patience, sent).await;
        if sent.is_err() {
            self.cut_off.fetch_add(1, Ordering::Relaxed);
        }
        sent.ok()
    }

    async fn turn(&self) -> Turn<'_> {
        let owed = self.turn.lock().await;
        Turn { owed, begun: Instant::now() }
    }
}

/// The right to make a message.
struct Turn<'a> {
    owed: MutexGuard<'a, Duration>,
    begun: Instant,
}

impl Turn<'_> {
    async fn rest(mut self) {
        *self.owed = (*self.owed + self.begun.elapsed() * REST_TIMES).min(REST_MAX);
        if *self.owed >= REST_MIN {
            tokio::time::sleep(std::mem::take(&mut *self.owed)).await;
        }
    }
}

pub(crate) type Events<T> = mpsc::Receiver<Result<T, Unanswered>>;

impl Desk {
    /// Each message is made on a thread that gives way to the scheduler.
    pub(crate) fn events<T: Send + 'static>(
        &self,
        wanted: EventsWanted,
        message: impl Fn(Vec<Seen>) -> T + Send + 'static,
    ) -> Events<T> {
        // One more for the last word.
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX + 1);
        let durable = self.handle.durable();
        let next = wanted.from.unwrap_or_else(|| durable.next());
        let until = (!wanted.follow).then_some(durable);
        let cursor = self.history.cursor(&self.registry, next);
        let (handle, audience) = (self.handle.clone(), self.audience.clone());
        let watcher = Watcher { handle, audience, cursor, wanted, until };
        drop(self.background.spawn(Contained::new("events", watcher.follow(message, sender))));
        receiver
    }
}

struct Watcher {
    handle: Handle,
    audience: Arc<Audience>,
    cursor: Cursor,
    wanted: EventsWanted,
    /// The last position of interest, if there is one.
    until: Option<Seq>,
}

impl Watcher {
    async fn follow<T>(
        mut self,
        message: impl Fn(Vec<Seen>) -> T,
        answers: mpsc::Sender<Result<T, Unanswered>>,
    ) {
        let mut durable = self.handle.watch_durable();
        let Ok(last_word) = answers.clone().reserve_owned().await else { return };
        loop {
            let next = self.cursor.next();
            if self.until.is_some_and(|until| next > until) {
                return;
            }
            tokio::select! {
                reached = durable.wait_for(|seq| *seq >= next) => {
                    if reached.is_err() {
                        return;
                    }
                }
                () = answers.closed() => return,
            }
            let events = match self.read().await {
                Ok(events) => events,
                Err(why) => return drop(last_word.send(Err(why))),
            };
            if !events.is_empty() {
                let turn = self.audience.turn().await;
                let made = message(events);
                turn.rest().await;
                match self.audience.within(answers.send(Ok(made))).await {
                    Some(Ok(())) => {}
                    Some(Err(_)) => return,
                    None => return drop(last_word.send(Err(Unanswered::TooSlow))),
                }
            }
            if self.cursor.next() > self.handle.durable() {
                tokio::time::sleep(GATHER).await;
            }
        }
    }

    /// Those of the next events that are wanted.
    async fn read(&mut self) -> Result<Vec<Seen>, Unanswered> {
        let mut events = self.cursor.read(self.handle.durable(), MESSAGE_EVENTS_MAX).await?;
        events.retain(|seen| self.wanted.is(seen));
        Ok(events)
    }
}

impl EventsWanted {
    fn is(&self, seen: &Seen) -> bool {
        let kind = seen.entry().event.name();
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && self.run.as_ref().is_none_or(|run| run == seen.run_id())
            && self.job.as_ref().is_none_or(|id| seen.is_about(id))
    }
}
