//! The side of producers, workers and watchers, which connects: PUSH, DEALER and SUB.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use zeromq::util::PeerIdentity;
use zeromq::{
    DealerRecvHalf, DealerSendHalf, DealerSocket, PushSocket, Socket, SocketOptions, SocketSend,
    SubSocket,
};

use super::frames::{self, Before, message};
use super::{Names, Port};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::Outgoing;

pub(super) struct Sockets {
    names: Arc<Names>,
    // Each behind a lock, because it is connected by whoever needs it first.
    jobs: Mutex<Option<PushSocket>>,
    worker: Mutex<Worker>,
}

/// The two halves of a worker's socket.
#[derive(Default)]
struct Worker {
    sender: Option<DealerSendHalf>,
    /// Until somebody wants the dispatches.
    receiver: Option<DealerRecvHalf>,
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Sockets {
    pub(super) fn new(names: Arc<Names>) -> Self {
        Self { names, jobs: Mutex::default(), worker: Mutex::default() }
    }

    async fn reach<S: Socket>(&self, mut socket: S, port: Port) -> Result<S, BrokerError> {
        let endpoint = self.names.endpoint(port);
        match socket.connect(&endpoint).await {
            Ok(()) => Ok(socket),
            Err(error @ zeromq::ZmqError::Codec(_)) => Err(BrokerError::refused(
                self.names.server(),
                error,
                "this is not ZeroMQ; correct host and port",
            )),
            Err(error) => Err(self.names.lost(error)),
        }
    }

    /// Reaches the port for jobs.
    pub(super) async fn connect(&self) -> Result<(), BrokerError> {
        let mut slot = self.jobs.lock().await;
        if slot.is_none() {
            *slot = Some(self.reach(PushSocket::new(), Port::Jobs).await?);
        }
        Ok(())
    }

    /// The worker's socket, connected.
    async fn worker(&self) -> Result<MutexGuard<'_, Worker>, BrokerError> {
        let mut worker = self.worker.lock().await;
        if worker.sender.is_none() {
            let identity = PeerIdentity::from_str(&self.names.identity)
                .map_err(|error| BrokerError::misuse(error.to_string()))?;
            let mut options = SocketOptions::default();
            options.peer_identity(identity);
            let socket = self.reach(DealerSocket::with_options(options), Port::Workers).await?;
            let (sender, receiver) = socket.split();
            *worker = Worker { sender: Some(sender), receiver: Some(receiver) };
        }
        Ok(worker)
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
        let before = match channel {
            Channel::Events => Before::One,
            Channel::Dead => Before::TopicAndError,
            Channel::Dispatch(worker) if worker.as_str() == self.names.identity => {
                let taken = self.worker().await?.receiver.take();
                let Some(mut receiver) = taken else {
                    return Err(BrokerError::misuse("the dispatches are being read already"));
                };
                let read =
                    frames::pump(&mut receiver, channel, Before::Nothing, batch, inlet).await;
                self.worker.lock().await.sender = None;
                return read.map_err(|error| self.names.lost(error));
            }
            Channel::Dispatch(_) | Channel::Jobs | Channel::Replies => {
                return Err(BrokerError::misuse(format!(
                    "over ZeroMQ, {} can't receive {channel}",
                    self.names.identity
                )));
            }
        };
        let mut socket = SubSocket::new();
        // Subscribed before it is connected, so that nothing is missed from then on.
        let topic = self.names.topic(channel);
        socket.subscribe(&topic).await.map_err(|error| self.names.lost(error))?;
        let mut socket = self.reach(socket, Port::Watchers).await?;
        let read = frames::pump(&mut socket, channel, before, batch, inlet).await;
        read.map_err(|error| self.names.lost(error))
    }

    pub(super) async fn publish(&self, messages: Vec<Outgoing>) -> Result<(), BrokerError> {
        for Outgoing { channel, id, body, .. } in messages {
            let message = message(None, id.as_ref(), body);
            match channel {
                Channel::Jobs => {
                    self.connect().await?;
                    let mut slot = self.jobs.lock().await;
                    let Some(socket) = slot.as_mut() else {
                        return Err(self.names.lost("the connection broke off"));
                    };
                    if let Err(error) = socket.send(message).await {
                        *slot = None;
                        return Err(self.names.lost(error));
                    }
                }
                Channel::Replies => {
                    let mut worker = self.worker().await?;
                    let Some(sender) = worker.sender.as_mut() else {
                        return Err(self.names.lost("the connection broke off"));
                    };
                    if let Err(error) = sender.send(message).await {
                        *worker = Worker::default();
                        return Err(self.names.lost(error));
                    }
                }
                Channel::Dispatch(_) | Channel::Events | Channel::Dead => {
                    return Err(BrokerError::misuse(format!(
                        "over ZeroMQ, only the scheduler can send {channel}"
                    )));
                }
            }
        }
        Ok(())
    }
}
