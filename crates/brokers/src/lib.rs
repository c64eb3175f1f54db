//! The queues that a team already has, behind one trait: jobs come in from them, offers go out to
//! workers that speak only the queue, their replies come in, and lifecycle events go out.
//!
//! This crate carries messages. What they mean, which of them are jobs and when a delivery may be
//! acknowledged is decided by the server.
//!
//! Start at [`Broker`], which states the contract, and [`open`], which gives one. The suite in
//! `tests/conformance/` holds every backend to it, against the real servers.

mod backoff;
mod broker;
mod channel;
mod error;
mod intake;
mod message;
mod nats;
mod promises;
mod rabbitmq;
mod redis;
mod report;
mod settings;
mod sqlite;
mod zeromq;

use std::sync::Arc;

pub use backoff::Backoff;
pub use broker::{Answer, Broker};
pub use channel::{Channel, WorkerName};
pub use error::BrokerError;
pub use message::{Delivery, MessageId, Outgoing, Receipt, Settlement};
pub use promises::{Delivered, Identity, Promises};
pub use report::{Finding, Report, Verdict};
pub use settings::{
    Address, Backend, Credentials, DispatchBy, NatsSettings, QueueKind, RabbitMqSettings,
    RedisSettings, Settings, Side, SqliteSettings, Tls, ZeroMqSettings,
};

/// Gives the broker which these settings describe, without waiting for its server: connections are
/// made in the background and made again when they are lost. To learn at once whether the server
/// can be used, ask [`Broker::check`].
///
/// Must be called inside a tokio runtime.
///
/// # Errors
/// [`BrokerError::Misuse`] if the settings contradict themselves.
pub fn open(settings: Settings) -> Result<Arc<dyn Broker>, BrokerError> {
    settings.validate()?;
    match &settings.backend {
        Backend::Sqlite(sqlite) => Ok(Arc::new(sqlite::Sqlite::new(&settings, sqlite.clone()))),
        Backend::Redis(redis) => Ok(Arc::new(redis::Redis::new(&settings, redis)?)),
        Backend::Nats(nats) => Ok(Arc::new(nats::Nats::new(&settings, nats))),
        Backend::RabbitMq(rabbit) => Ok(Arc::new(rabbitmq::RabbitMq::new(&settings, rabbit))),
        Backend::ZeroMq(zeromq) => Ok(Arc::new(zeromq::ZeroMq::new(&settings, zeromq)?)),
    }
}
