//! Messages between the task that fetches them from a server and whoever receives them: bounded, so
//! that a reader who stops leaves messages in the broker, and safe to cancel.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex as Lock};

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::Delivery;

/// Where the fetching task puts what it got. Waits while the last batch is unread.
pub(crate) type Inlet = mpsc::Sender<Result<Vec<Delivery>, BrokerError>>;

/// Pauses after an error of a fetching task. A lost connection is only noted, because whoever
/// receives waits for it; all else is told. False if nobody wants to receive any more.
pub(crate) async fn pause_after(
    error: BrokerError,
    channel: &Channel,
    inlet: &Inlet,
    backoff: &mut Backoff,
) -> bool {
    match error {
        BrokerError::Lost { .. } => tracing::warn!(%error, %channel),
        BrokerError::Refused { .. } | BrokerError::Misuse { .. } => {
            if inlet.send(Err(error)).await.is_err() {
                return false;
            }
        }
    }
    backoff.pause().await;
    !inlet.is_closed()
}

/// One fetching task for every channel that somebody reads.
#[derive(Debug, Default)]
pub(crate) struct Intakes {
    // A map behind a lock, because channels are opened by whoever first reads them; it is held only
    // to look up.
    by_channel: Lock<HashMap<Channel, Arc<Intake>>>,
}

impl Intakes {
    /// Receives from a channel, whose task is started the first time.
    pub(crate) async fn receive<F>(
        &self,
        channel: &Channel,
        max: usize,
        start: impl FnOnce(Inlet) -> F,
    ) -> Result<Vec<Delivery>, BrokerError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if max == 0 {
            return Err(BrokerError::misuse("receive at least one message"));
        }
        let intake = {
            let mut by_channel = self.by_channel.lock().expect("no holder of this lock panics");
            let intake = by_channel.entry(channel.clone()).or_insert_with(|| {
                let (inlet, outlet) = mpsc::channel(1);
                Arc::new(Intake::new(outlet, tokio::spawn(start(inlet))))
            });
            Arc::clone(intake)
        };
        intake.receive(max).await
    }
}

#[derive(Debug)]
struct Intake {
    waiting: Mutex<Waiting>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Waiting {
    outlet: mpsc::Receiver<Result<Vec<Delivery>, BrokerError>>,
    rest: VecDeque<Delivery>,
}

impl Intake {
    fn new(
        outlet: mpsc::Receiver<Result<Vec<Delivery>, BrokerError>>,
        task: JoinHandle<()>,
    ) -> Self {
        Self { waiting: Mutex::new(Waiting { outlet, rest: VecDeque::new() }), task }
    }

    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, BrokerError> {
        let mut waiting = self.waiting.lock().await;
        let Waiting { outlet, rest } = &mut *waiting;
        let mut batch: Vec<Delivery> = rest.drain(..rest.len().min(max)).collect();
        while batch.is_empty() {
            match outlet.recv().await {
                Some(next) => batch = next?,
                None => return Err(BrokerError::misuse("the task that fetches has ended")),
            }
        }
        while batch.len() < max {
            match outlet.try_recv() {
                Ok(Ok(next)) => batch.extend(next),
                // An error is told by the next call: what is here must not be lost for it. The task
                // repeats an error that lasts.
                Ok(Err(_)) | Err(_) => break,
            }
        }
        if batch.len() > max {
            rest.extend(batch.drain(max..));
        }
        Ok(batch)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.task.abort();
    }
}
