//! Where a queue is and how to speak to it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::BrokerError;

/// Names longer than this do not fit every broker with what is added to them.
const PREFIX_BYTES_MAX: usize = 64;

/// All that is needed to open a queue.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kind of server and its address.
    pub backend: Backend,
    /// What all names of channels begin with: letters, digits, `-` and `_`.
    pub stream_prefix: String,
    /// Under which name this process takes messages. A process that comes back under the same name
    /// gets what it left unsettled at once, where the broker knows consumers by name (Redis);
    /// another one has to wait for `redeliver_after`.
    pub consumer: String,
    /// How long a message may be held by a process that shows no sign of life (Redis, NATS; the
    /// others notice at once).
    pub redeliver_after: Duration,
    /// How many messages are fetched ahead of the reader, per channel.
    pub prefetch: usize,
    /// How long the server may take for an answer before the connection counts as lost.
    pub timeout: Duration,
    /// How many messages with lifecycle events the broker keeps, about; older ones are dropped.
    pub events_max: u64,
    /// Which side of the channels this is. It matters only to ZeroMQ, where one side binds.
    pub side: Side,
}

impl Settings {
    /// The prefix if none is configured.
    pub const DEFAULT_PREFIX: &'static str = "kai-job";

    /// Defaults for all that has one.
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            stream_prefix: Self::DEFAULT_PREFIX.to_owned(),
            consumer: "scheduler".to_owned(),
            redeliver_after: Duration::from_secs(30),
            prefetch: 1024,
            timeout: Duration::from_secs(10),
            events_max: 8_000,
            side: Side::Scheduler,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), BrokerError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let prefix = &self.stream_prefix;
        if prefix.is_empty() || prefix.len() > PREFIX_BYTES_MAX || !prefix.chars().all(allowed) {
            return Err(BrokerError::misuse(format!(
                "stream_prefix {prefix:?} must have 1 to {PREFIX_BYTES_MAX} letters, digits, '-' or '_'"
            )));
        }
        if self.consumer.is_empty() || !self.consumer.chars().all(allowed) {
            return Err(BrokerError::misuse(format!(
                "consumer {:?} must have letters, digits, '-' or '_' only",
                self.consumer
            )));
        }
        if self.prefetch == 0 {
            return Err(BrokerError::misuse("prefetch must be at least 1"));
        }
        if self.redeliver_after < Duration::from_millis(100) {
            return Err(BrokerError::misuse("redeliver_after must be at least 100 ms"));
        }
        Ok(())
    }
}

/// The side of the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Receives jobs and replies; sends dispatches and events.
    Scheduler,
    /// Sends jobs and replies; receives dispatches and events: producers, workers, watchers.
    Outside,
}

/// The kind of server and how to reach it.
#[derive(Clone, Debug)]
pub enum Backend {
    /// Redis 6.2 or newer, streams.
    Redis(RedisSettings),
    /// RabbitMQ 3.10 or newer.
    RabbitMq(RabbitMqSettings),
    /// NATS 2.9 or newer with JetStream.
    Nats(NatsSettings),
    /// ZeroMQ: no server, sockets of the scheduler.
    ZeroMq(ZeroMqSettings),
    /// A SQLite file in WAL mode: no server, a file on this machine.
    Sqlite(SqliteSettings),
}

impl Backend {
    /// As in the configuration: redis, rabbitmq, nats, zeromq or sqlite.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Redis(_) => "redis",
            Self::RabbitMq(_) => "rabbitmq",
            Self::Nats(_) => "nats",
            Self::ZeroMq(_) => "zeromq",
            Self::Sqlite(_) => "sqlite",
        }
    }
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl Address {
    /// Whether nobody but this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Who we are.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// User; None where the server knows only a password or token.
    pub user: Option<String>,
    /// Password or token.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// How to know the server.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tls {
    /// PEM file with the authorities to trust; those of the system if there is none.
    pub authorities: Option<PathBuf>,
}

/// Redis.
#[derive(Clone, Debug)]
pub struct RedisSettings {
    /// Usually port 6379.
    pub address: Address,
    /// Number of the database.
    pub db: i64,
    /// None for a server without.
    pub credentials: Option<Credentials>,
    /// None for plain TCP.
    pub tls: Option<Tls>,
    /// How workers listen.
    pub dispatch_by: DispatchBy,
    /// Whether entries of jobs and replies that every consumer group has acknowledged are removed
    /// from their streams.
    pub trim: bool,
}

/// How workers on Redis get their offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchBy {
    /// From a stream of their own: kept until read.
    Stream,
    /// By `PUBLISH` on a channel of the same name: lost on who does not listen.
    Publish,
}

/// RabbitMQ.
#[derive(Clone, Debug)]
pub struct RabbitMqSettings {
    /// Usually port 5672, with TLS 5671.
    pub address: Address,
    /// Usually `/`.
    pub virtual_host: String,
    /// `guest` with password `guest` if there are none.
    pub credentials: Option<Credentials>,
    /// None for plain TCP.
    pub tls: Option<Tls>,
    /// The kind of queues to make.
    pub queues: QueueKind,
}

/// The kind of a RabbitMQ queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Replicated over the cluster, without priorities.
    Quorum,
    /// Durable on one node, with priorities.
    Classic,
}

/// NATS with JetStream.
#[derive(Clone, Debug)]
pub struct NatsSettings {
    /// Usually port 4222.
    pub address: Address,
    /// A user with password, or a token if there is no user.
    pub credentials: Option<Credentials>,
    /// None for plain TCP.
    pub tls: Option<Tls>,
}

/// ZeroMQ: the scheduler binds three ports in a row, everybody else connects.
///
/// `port` PULL for jobs (others PUSH); `port + 1` ROUTER for workers, whose DEALER has the worker's
/// name as its identity: dispatches go out and replies come in; `port + 2` PUB for events and dead
/// letters, each with its topic `<prefix>:events` or `<prefix>:dead` as the first frame.
#[derive(Clone, Debug)]
pub struct ZeroMqSettings {
    /// The first of the three ports.
    pub address: Address,
}

/// A SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteSettings {
    /// It is made if it does not exist; its folder must.
    pub path: PathBuf,
}
