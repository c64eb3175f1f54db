//! ZeroMQ: no broker at all, sockets of the scheduler that others connect to.
//!
//! At most once, by nature. A message is taken out of the sender's hands when it is sent and lives
//! in the memory of one of the two processes until it is received; if that process dies, it is gone.
//! Settling does nothing, a dispatch to a worker that is not connected is lost, and so are events and
//! dead letters for which nobody listens. What there is instead: no server to run, and senders wait
//! when the scheduler does not keep up.
//!
//! The last frame of a message is its body. If there is one before it, that is its id.

mod frames;
mod guard;
mod outside;
mod scheduler;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::broker::{Answer, Broker};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::Intakes;
use crate::message::{Delivery, Outgoing, Settlement};
use crate::promises::{Delivered, Identity, Promises};
use crate::report::Report;
use crate::settings::{Address, Settings, Side, ZeroMqSettings};

/// One side of the sockets.
#[derive(Debug)]
pub(crate) struct ZeroMq {
    names: Arc<Names>,
    sockets: Sockets,
    intakes: Intakes,
}

#[derive(Debug)]
enum Sockets {
    Scheduler(Arc<scheduler::Sockets>),
    Outside(Arc<outside::Sockets>),
}

/// What is where, and the limits.
#[derive(Debug)]
struct Names {
    address: Address,
    prefix: String,
    /// Who we are to the scheduler, if we are a worker.
    identity: String,
    prefetch: usize,
    timeout: Duration,
}

/// The three sockets, on ports in a row.
#[derive(Clone, Copy, Debug)]
enum Port {
    Jobs = 0,
    Workers = 1,
    Watchers = 2,
}

impl Names {
    fn endpoint(&self, port: Port) -> String {
        let host = &self.address.host;
        let number = u32::from(self.address.port) + port as u32;
        if host.contains(':') {
            return format!("tcp://[{host}]:{number}");
        }
        format!("tcp://{host}:{number}")
    }

    fn topic(&self, channel: &Channel) -> String {
        format!("{}:{}", self.prefix, channel.kind())
    }

    fn server(&self) -> String {
        format!("zeromq at {}", self.address)
    }

    fn lost(&self, error: impl ToString) -> BrokerError {
        BrokerError::lost(self.server(), error)
    }

    /// Waits no longer than the other side may take.
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, BrokerError>>,
    ) -> Result<T, BrokerError> {
        match tokio::time::timeout(self.timeout, work).await {
            Ok(result) => result,
            Err(_) => Err(self.lost("the other side did not take it in time")),
        }
    }
}

impl ZeroMq {
    pub(crate) fn new(settings: &Settings, zeromq: &ZeroMqSettings) -> Result<Self, BrokerError> {
        if zeromq.address.port.checked_add(2).is_none() {
            return Err(BrokerError::misuse("port + 2 must be a port too"));
        }
        let names = Arc::new(Names {
            address: zeromq.address.clone(),
            prefix: settings.stream_prefix.clone(),
            identity: settings.consumer.clone(),
            prefetch: settings.prefetch,
            timeout: settings.timeout,
        });
        let sockets = match settings.side {
            Side::Scheduler => {
                Sockets::Scheduler(Arc::new(scheduler::Sockets::new(Arc::clone(&names))))
            }
            Side::Outside => Sockets::Outside(Arc::new(outside::Sockets::new(Arc::clone(&names)))),
        };
        Ok(Self { names, sockets, intakes: Intakes::default() })
    }
}

impl Broker for ZeroMq {
    fn promises(&self) -> Promises {
        Promises {
            delivered: Delivered::AtMostOnce,
            durable: false,
            priorities: false,
            identity: Identity::Always,
        }
    }

    fn receive<'a>(&'a self, channel: &'a Channel, max: usize) -> Answer<'a, Vec<Delivery>> {
        let wanted = channel.clone();
        match &self.sockets {
            Sockets::Scheduler(sockets) => {
                let start = |inlet| Arc::clone(sockets).fetch(wanted, inlet);
                self.intakes.receive(channel, max, start).boxed()
            }
            Sockets::Outside(sockets) => {
                let start = |inlet| Arc::clone(sockets).fetch(wanted, inlet);
                self.intakes.receive(channel, max, start).boxed()
            }
        }
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Answer<'_, ()> {
        // Done and released messages are gone already. Only dead letters are left to tell.
        let letters: Vec<(Delivery, String)> = settlements
            .into_iter()
            .filter_map(|settlement| match settlement {
                Settlement::Done(_) | Settlement::Release(_) => None,
                Settlement::DeadLetter { delivery, error } => Some((*delivery, error)),
            })
            .collect();
        match &self.sockets {
            Sockets::Scheduler(sockets) => sockets.tell_dead(letters).boxed(),
            Sockets::Outside(_) => std::future::ready(Ok(())).boxed(),
        }
    }

    fn publish(&self, messages: Vec<Outgoing>) -> Answer<'_, ()> {
        match &self.sockets {
            Sockets::Scheduler(sockets) => self.names.within(sockets.publish(messages)).boxed(),
            Sockets::Outside(sockets) => self.names.within(sockets.publish(messages)).boxed(),
        }
    }

    fn backlog<'a>(&'a self, _channel: &'a Channel) -> Answer<'a, Option<u64>> {
        std::future::ready(Ok(None)).boxed()
    }

    fn check(&self) -> BoxFuture<'_, Report> {
        async move {
            let mut report = Report::of(self.names.server());
            report.version = Some("ZMTP 3.0, without a server".to_owned());
            let reached = match &self.sockets {
                Sockets::Scheduler(sockets) => sockets.bind_all().await,
                Sockets::Outside(sockets) => self.names.within(sockets.connect()).await,
            };
            match reached {
                Ok(()) => report.good("reachable", "the three ports are open"),
                Err(error) => report.failed("reachable", &error),
            }
            report.add(
                "durable",
                crate::report::Verdict::Warning(
                    "at most once: what is on its way is lost when a process dies".to_owned(),
                ),
            );
            report
        }
        .boxed()
    }
}
