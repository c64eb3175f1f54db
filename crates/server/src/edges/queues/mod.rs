//! The queues in front: jobs come in from them, workers that speak only a queue take part, and
//! lifecycle events go out to them.
//!
//! Each queue has tasks of its own, which talk to the loop like every other edge. A queue that is
//! slow or gone keeps its own tasks waiting and nobody else.
//!
//! Deliberately absent: how a message gets from here to there and comes again if it was not
//! settled, which is what `bellwether-brokers` is for.

mod events;
mod identity;
mod jobs;
mod late;
mod latecomers;
mod outbound;
mod seals;
mod speaker;
mod workers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bellwether_brokers::{Broker, BrokerError};
use bellwether_core::model::{Actor, Name, excerpt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use crate::config::{Published, ServerConfig};
use crate::edges::desk::Desk;
use crate::identity::Identity;
use crate::position::{Keeper, PositionError};
use crate::priority::Aside;
use crate::sinks::metrics::{QueueCounts, QueueMeters};
use crate::sinks::trace::context::Tracing;

/// How long the tasks may take to say their last words when the server shuts down.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// The pause after a server has refused: only somebody who changes something can help.
const REFUSED_PAUSE: Duration = Duration::from_secs(2);
/// Bytes of a message that are looked at to tell how it begins.
const EXCERPT_BYTES: usize = 256;
/// Below which what is remembered of queues is kept.
const FOLDER: &str = "queues";

#[derive(Debug, thiserror::Error)]
pub enum QueuesError {
    #[error("queue {name}: {source}")]
    Open { name: String, source: BrokerError },
    #[error(transparent)]
    Position(#[from] PositionError),
    #[error("can't start a thread for queues: {0}")]
    Thread(#[source] std::io::Error),
}

/// One queue, for its tasks.
#[derive(Debug, Clone)]
struct Queue {
    name: Arc<str>,
    broker: Arc<dyn Broker>,
    desk: Desk,
    tracing: Option<Tracing>,
    counts: Arc<QueueCounts>,
    /// Workers need not sign what they say.
    trusted: bool,
    /// How long a job may wait for one that it depends on to become known.
    dependency_wait: Duration,
    /// One for each that may.
    aside: Arc<Semaphore>,
    /// True once the server shuts down.
    stopping: watch::Receiver<bool>,
}

/// A message, as it is told if reading it meets a bug: whose it is, and how it begins.
struct Sent<'a> {
    channel: &'static str,
    queue: &'a str,
    body: &'a [u8],
}

impl fmt::Display for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sent { channel, queue, body } = self;
        let start = String::from_utf8_lossy(&body[..body.len().min(EXCERPT_BYTES)]);
        write!(f, "{channel} of queue {queue} that begins with {:?}", excerpt(&start))
    }
}

/// The tasks of all queues.
#[derive(Debug)]
pub(crate) struct Queues {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    /// Where the tasks run, if there are any.
    _aside: Option<Aside>,
}

impl Queues {
    /// Servers need not be there yet.
    pub(crate) async fn start(
        config: &ServerConfig,
        desk: &Desk,
        keeper: &Keeper,
        identity: &Identity,
        tracing: Option<Tracing>,
        meters: &QueueMeters,
    ) -> Result<Queues, QueuesError> {
        let (stop, stopping) = watch::channel(false);
        let mut tasks = JoinSet::new();
        if config.queues.is_empty() {
            return Ok(Queues { tasks, stop, _aside: None });
        }
        let mut positions = Vec::new();
        for wanted in &config.queues {
            let told = wanted.events != Published::None;
            let name = format!("{FOLDER}/{}", wanted.name);
            positions.push(match told {
                true => Some(keeper.open(&name, desk.handle.durable()).await?),
                false => None,
            });
        }
        let aside = Aside::queues().map_err(QueuesError::Thread)?;
        let on = aside.handle();
        let _entered = on.enter();
        for (wanted, position) in config.queues.iter().zip(positions) {
            let opened = bellwether_brokers::open(wanted.settings.clone());
            let name = wanted.name.clone();
            let broker = opened.map_err(|source| QueuesError::Open { name, source })?;
            // Nobody but the broker knows who has written to it.
            let by = Name::new(&format!("queue {}", wanted.name)).ok();
            let queue = Queue {
                name: wanted.name.as_str().into(),
                broker,
                desk: desk.acting(by.map(|name| Actor { name, peer: None })),
                tracing,
                counts: meters.of(&wanted.name),
                trusted: wanted.trusted,
                dependency_wait: wanted.dependency_wait,
                aside: Arc::new(Semaphore::new(latecomers::HELD_ASIDE_MAX)),
                stopping: stopping.clone(),
            };
            if let Some(position) = position {
                tasks.spawn(events::publish(
                    queue.clone(),
                    wanted.events,
                    identity.clone(),
                    position,
                ));
            }
            let (told, outbound) = mpsc::channel(outbound::MESSAGES_MAX);
            tasks.spawn(outbound::run(queue.clone(), outbound));
            tasks.spawn(workers::listen(queue.clone(), told));
            tasks.spawn(jobs::take(queue));
        }
        Ok(Queues { tasks, stop, _aside: Some(aside) })
    }

    /// Called after the loop has ended: what it said last is sent, as far as the servers are there.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_PATIENCE, ended).await.is_err() {
            tracing::warn!("a queue did not take the last words in time; it will get them later");
        }
    }
}

impl Queue {
    fn failed(&self) {
        QueueCounts::add(&self.counts.failures, 1);
    }

    /// A place for a job that waits for another to become known, if it may and there is one.
    fn place_aside(&self) -> Option<OwnedSemaphorePermit> {
        if self.dependency_wait.is_zero() {
            return None;
        }
        self.aside.clone().try_acquire_owned().ok()
    }

    /// Resolves when the server shuts down.
    async fn stopped(&self) {
        let mut stopping = self.stopping.clone();
        // Gone, or true: both mean that it is over.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_meets_a_bug_is_told_by_how_it_begins() {
        let body = [br#"{"type":"#.as_slice(), &[b'x'; 1 << 20]].concat();
        let told = Sent { channel: "a reply", queue: "team", body: &body }.to_string();
        assert!(
            told.starts_with(r#"a reply of queue team that begins with "{\"type\":xxx"#),
            "{told}"
        );
        assert!(told.len() < 200, "{told}");
    }
}
