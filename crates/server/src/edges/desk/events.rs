//! Events from a position on, then as they happen. Each client reads the journal at its own pace,
//! so one that is slow or stuck costs nobody anything; one that takes nothing for long is let go.

use std::time::{Duration, Instant};

use bellwether_core::model::Seq;
use tokio::sync::mpsc;

use super::{Desk, Unanswered};
use crate::event_loop::Handle;
use crate::projections::history::{Cursor, Seen};

/// Few enough for a message to fit into a processor's cache.
const MESSAGE_EVENTS_MAX: u64 = 256;
const MESSAGES_MAX: usize = 4;
/// A client that takes nothing for this long is disconnected.
const STUCK_AFTER: Duration = Duration::from_secs(30);
/// How long events gather for one who has seen all that came before.
const GATHER: Duration = Duration::from_millis(10);
/// One who has not rests so many times as long as a message took to make, so that followers take
/// little from a scheduler that is busy, and fall behind instead.
const REST_TIMES: u32 = 3;
const REST_MAX: Duration = Duration::from_millis(50);

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

pub(crate) type Events<T> = mpsc::Receiver<Result<T, Unanswered>>;

impl Desk {
    /// Each message is made on a thread that gives way to the scheduler.
    pub(crate) fn events<T: Send + 'static>(
        &self,
        wanted: EventsWanted,
        message: impl Fn(Vec<Seen>) -> T + Send + 'static,
    ) -> Events<T> {
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
        let durable = self.handle.durable();
        let next = wanted.from.unwrap_or_else(|| durable.next());
        let until = (!wanted.follow).then_some(durable);
        let cursor = self.history.cursor(&self.registry, next);
        let watcher = Watcher { handle: self.handle.clone(), cursor, wanted, until };
        self.background.spawn(watcher.follow(message, sender));
        receiver
    }
}

struct Watcher {
    handle: Handle,
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
            let begun = Instant::now();
            let wanted = self.read().await.map(|events| (!events.is_empty()).then_some(events));
            let failed = wanted.is_err();
            let made = wanted.map(|events| events.map(&message)).transpose();
            let took = begun.elapsed();
            if let Some(made) = made {
                let sent = tokio::time::timeout(STUCK_AFTER, answers.send(made)).await;
                if failed || !matches!(sent, Ok(Ok(()))) {
                    return;
                }
            }
            let caught_up = self.cursor.next() > self.handle.durable();
            let rest = if caught_up { GATHER } else { (took * REST_TIMES).min(REST_MAX) };
            tokio::time::sleep(rest).await;
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
