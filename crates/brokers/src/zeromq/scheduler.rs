//! The side of the scheduler, which binds: PULL, ROUTER and PUB.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Mutex, MutexGuard};
use zeromq::{
    PubSocket, PullSocket, RouterRecvHalf, RouterSendHalf, RouterSocket, Socket, SocketSend,
    ZmqError, ZmqMessage,
};

use super::frames::{self, Before, message};
use super::guard::{self, Guard};
use super::{Names, Port};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::{Delivery, Outgoing};

/// A predecessor may be just about to leave the port.
const BIND_PATIENCE: Duration = Duration::from_millis(500);
const BIND_PAUSE: Duration = Duration::from_millis(10);

pub(super) struct Sockets {
    names: Arc<Names>,
    // Each behind a lock, because it is bound by whoever needs it first.
    jobs: Mutex<Jobs>,
    workers: Mutex<Workers>,
    watchers: Mutex<Option<PubSocket>>,
    // Only ever added to.
    guards: std::sync::Mutex<Vec<Guard>>,
}

/// The socket for jobs.
#[derive(Default)]
struct Jobs {
    bound: bool,
    /// Until somebody wants the jobs.
    receiver: Option<PullSocket>,
}

/// The two halves of the socket to workers.
#[derive(Default)]
struct Workers {
    sender: Option<RouterSendHalf>,
    /// Until somebody wants the replies.
    receiver: Option<RouterRecvHalf>,
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Sockets {
    pub(super) fn new(names: Arc<Names>) -> Self {
        Self {
            names,
            jobs: Mutex::default(),
            workers: Mutex::default(),
            watchers: Mutex::default(),
            guards: std::sync::Mutex::default(),
        }
    }

    async fn bind<S: Socket>(&self, port: Port) -> Result<S, BrokerError> {
        let endpoint = self.names.endpoint(port);
        let number = self.names.address.port + port as u16;
        let began = Instant::now();
        loop {
            let error = match guard::open(&self.names.address.host, number).await {
                Ok((socket, guard)) => {
                    let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
                    guards.push(guard);
                    return Ok(socket);
                }
                Err(error) => error,
            };
            if began.elapsed() > BIND_PATIENCE {
                return Err(BrokerError::refused(
                    self.names.server(),
                    format!("{endpoint} can't be bound: {error}"),
                    "if no scheduler runs there already, free this port, or choose another",
                ));
            }
            tokio::time::sleep(BIND_PAUSE).await;
        }
    }

    /// Opens all three ports.
    pub(super) async fn bind_all(&self) -> Result<(), BrokerError> {
        drop(self.for_jobs().await?);
        drop(self.to_workers().await?);
        let mut watchers = self.watchers.lock().await;
        if watchers.is_none() {
            *watchers = Some(self.bind(Port::Watchers).await?);
        }
        Ok(())
    }

    async fn for_jobs(&self) -> Result<MutexGuard<'_, Jobs>, BrokerError> {
        let mut jobs = self.jobs.lock().await;
        if !jobs.bound {
            *jobs = Jobs { bound: true, receiver: Some(self.bind(Port::Jobs).await?) };
        }
        Ok(jobs)
    }

    async fn to_workers(&self) -> Result<RouterSendHalf, BrokerError> {
        let mut workers = self.workers.lock().await;
        if let Some(sender) = &workers.sender {
            return Ok(sender.clone());
        }
        let (sender, receiver) = self.bind::<RouterSocket>(Port::Workers).await?.split();
        workers.receiver = Some(receiver);
        Ok(workers.sender.insert(sender).clone())
    }

    /// Reads a channel until nobody wants to receive any more.
    pub(super) async fn fetch(self: Arc<Self>, channel: Channel, inlet: Inlet) {
        let mut backoff = Backoff::default();
        loop {
            let Err(error) = self.read(&channel, &inlet).await else { return };
            if !pause_after(error, &channel, &inlet, &mut backoff).await {
                return;
            }
        }
    }

    async fn read(&self, channel: &Channel, inlet: &Inlet) -> Result<(), BrokerError> {
        let batch = self.names.prefetch;
        match channel {
            Channel::Jobs => {
                let taken = self.for_jobs().await?.receiver.take();
                let Some(mut socket) = taken else {
                    return Err(BrokerError::misuse("the jobs are being read already"));
                };
                while frames::pump(&mut socket, channel, Before::Nothing, batch, inlet)
                    .await
                    .is_err()
                {
                    // One sender broke off; the others go on.
                    tracing::debug!("a sender of jobs is gone");
                }
                Ok(())
            }
            Channel::Replies => {
                drop(self.to_workers().await?);
                let taken = self.workers.lock().await.receiver.take();
                let Some(mut receiver) = taken else {
                    return Err(BrokerError::misuse("the replies are being read already"));
                };
                while frames::pump(&mut receiver, channel, Before::One, batch, inlet).await.is_err()
                {
                    tracing::debug!("a worker is gone");
                }
                Ok(())
            }
            Channel::Dispatch(_) | Channel::Events | Channel::Dead => Err(BrokerError::misuse(
                format!("over ZeroMQ the scheduler can't receive what it sends itself: {channel}"),
            )),
        }
    }

    pub(super) async fn publish(&self, messages: Vec<Outgoing>) -> Result<(), BrokerError> {
        for Outgoing { channel, id, body, .. } in messages {
            match &channel {
                Channel::Dispatch(worker) => {
                    let mut sender = self.to_workers().await?;
                    let to = worker.as_str().to_owned();
                    if let Err(error) = sender.send(message(Some(to), id.as_ref(), body)).await {
                        // At most once: who is not there does not get it, and the scheduler offers
                        // the job to somebody else in time.
                        tracing::debug!(%worker, %error, "a dispatch is lost");
                    }
                }
                Channel::Events => {
                    let topic = self.names.topic(&channel);
                    self.tell(message(Some(topic), id.as_ref(), body)).await?;
                }
                Channel::Jobs | Channel::Replies | Channel::Dead => {
                    return Err(BrokerError::misuse(format!(
                        "over ZeroMQ the scheduler can't send what it receives itself: {channel}"
                    )));
                }
            }
        }
        Ok(())
    }

    pub(super) async fn tell_dead(
        &self,
        letters: Vec<(Delivery, String)>,
    ) -> Result<(), BrokerError> {
        for (delivery, error) in letters {
            let id = delivery.id.map(|id| id.as_str().to_owned()).unwrap_or_default();
            let mut letter = ZmqMessage::from(delivery.body);
            letter.push_front(Bytes::from(error));
            letter.push_front(Bytes::from(id));
            letter.push_front(Bytes::from(self.names.topic(&Channel::Dead)));
            self.names.within(self.tell(letter)).await?;
        }
        Ok(())
    }

    async fn tell(&self, message: ZmqMessage) -> Result<(), BrokerError> {
        let mut slot = self.watchers.lock().await;
        let socket = match &mut *slot {
            Some(socket) => socket,
            None => slot.insert(self.bind(Port::Watchers).await?),
        };
        loop {
            match socket.send(message.clone()).await {
                Ok(()) => return Ok(()),
                Err(ZmqError::BufferFull(_)) => tokio::task::yield_now().await,
                Err(error) => return Err(self.names.lost(error)),
            }
        }
    }
}
