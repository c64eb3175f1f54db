//! Queues in front of the scheduler: `queue` is one, `queues` are several by name.

use std::path::PathBuf;
use std::time::Duration;

use bellwether_brokers::{
    Address, Backend, Credentials, DispatchBy, NatsSettings, QueueKind, RabbitMqSettings,
    RedisSettings, Settings, SqliteSettings, Tls, ZeroMqSettings,
};

use super::value::{Parsed, number, span, switch};
use super::{LoadError, Published, Queue};
use bellwether_wire::private::read_secret;

/// What every key of a queue begins with, wherever the queue was written.
pub(super) const PREFIX: &str = "queue.";
const HOST: &str = "127.0.0.1";
/// Producers race: what a job depends on may be a little behind it.
const DEPENDENCY_WAIT: Duration = Duration::from_secs(20);
const NAME_BYTES_MAX: usize = 64;

/// A queue on its way.
#[derive(Debug, Default)]
pub(super) struct QueueDraft {
    backend: Option<Kind>,
    host: Option<String>,
    port: Option<u16>,
    exposed: Option<bool>,
    trusted: Option<bool>,
    db: Option<i64>,
    path: Option<PathBuf>,
    virtual_host: Option<String>,
    stream_prefix: Option<String>,
    user: Option<String>,
    password_env: Option<String>,
    password_file: Option<PathBuf>,
    tls: Option<bool>,
    tls_ca: Option<PathBuf>,
    queue_type: Option<QueueKind>,
    dispatch_by: Option<DispatchBy>,
    trim: Option<bool>,
    consumer: Option<String>,
    redeliver_after: Option<Duration>,
    prefetch: Option<usize>,
    events: Option<Published>,
    events_max: Option<u64>,
    unknown_dependency_wait: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Redis,
    RabbitMq,
    Nats,
    ZeroMq,
    Sqlite,
}

pub(super) struct QueueSetting {
    pub(super) key: &'static str,
    /// The backends that it means something to.
    backends: &'static [Kind],
    set: fn(&mut QueueDraft, &str) -> Parsed<()>,
    is_set: fn(&QueueDraft) -> bool,
}

macro_rules! settings {
    ($($key:literal, $field:ident, $backends:expr, $parse:expr;)+) => {
        pub(super) const SETTINGS: &[QueueSetting] = &[$(QueueSetting {
            key: $key,
            backends: $backends,
            set: |draft, text| {
                let parse: fn(&str) -> Parsed<_> = $parse;
                draft.$field = Some(parse(text)?);
                Ok(())
            },
            is_set: |draft| draft.$field.is_some(),
        },)+];
    };
}

const ALL: &[Kind] = &[Kind::Redis, Kind::RabbitMq, Kind::Nats, Kind::ZeroMq, Kind::Sqlite];
const SERVERS: &[Kind] = &[Kind::Redis, Kind::RabbitMq, Kind::Nats];

settings! {
    "queue.backend", backend, ALL, kind;
    "queue.host", host, &[Kind::Redis, Kind::RabbitMq, Kind::Nats, Kind::ZeroMq], text;
    "queue.port", port, &[Kind::Redis, Kind::RabbitMq, Kind::Nats, Kind::ZeroMq], number;
    "queue.exposed", exposed, &[Kind::ZeroMq], switch;
    "queue.trusted", trusted, ALL, switch;
    "queue.db", db, &[Kind::Redis], number;
    "queue.path", path, &[Kind::Sqlite], path;
    "queue.virtual_host", virtual_host, &[Kind::RabbitMq], text;
    "queue.stream_prefix", stream_prefix, ALL, text;
    "queue.user", user, SERVERS, text;
    "queue.password_env", password_env, SERVERS, text;
    "queue.password_file", password_file, SERVERS, path;
    "queue.tls", tls, SERVERS, switch;
    "queue.tls_ca", tls_ca, SERVERS, path;
    "queue.queue_type", queue_type, &[Kind::RabbitMq], queue_kind;
    "queue.dispatch_by", dispatch_by, &[Kind::Redis], dispatch_by;
    "queue.trim", trim, &[Kind::Redis], switch;
    "queue.consumer", consumer, ALL, text;
    "queue.redeliver_after", redeliver_after, ALL, duration;
    "queue.prefetch", prefetch, ALL, number;
    "queue.events", events, ALL, published;
    "queue.events_max", events_max, ALL, number;
    "queue.unknown_dependency_wait", unknown_dependency_wait, ALL, duration;
}

/// Where passwords may come from, besides files.
pub(super) type Environment = [(String, String)];

impl QueueDraft {
    /// One of this kind where it usually is.
    pub(super) fn usual(backend: Kind) -> QueueDraft {
        QueueDraft { backend: Some(backend), ..QueueDraft::default() }
    }

    pub(super) fn set(&mut self, setting: &QueueSetting, text: &str) -> Parsed<()> {
        (setting.set)(self, text)
    }

    pub(super) fn finish(
        self,
        name: String,
        environment: &Environment,
    ) -> Result<Queue, LoadError> {
        let wrong = |reason: String| LoadError::Queue { name: name.clone(), reason };
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(allowed) {
            let reason =
                format!("its name must be 1 to {NAME_BYTES_MAX} letters, digits, '-' or '_'");
            return Err(wrong(reason));
        }
        let Some(kind) = self.backend else {
            let reason = "it has no backend; set it to redis, rabbitmq, nats, zeromq or sqlite";
            return Err(wrong(reason.to_owned()));
        };
        for setting in SETTINGS {
            if (setting.is_set)(&self) && !setting.backends.contains(&kind) {
                let key = setting.key.trim_start_matches(PREFIX);
                return Err(wrong(format!("{key} means nothing to {}; remove it", kind.name())));
            }
        }
        let backend = self.backend(kind, environment).map_err(wrong)?;
        let mut settings = Settings::new(backend);
        settings.stream_prefix = self.stream_prefix.unwrap_or(settings.stream_prefix);
        settings.consumer = self.consumer.unwrap_or(settings.consumer);
        settings.redeliver_after = self.redeliver_after.unwrap_or(settings.redeliver_after);
        settings.prefetch = self.prefetch.unwrap_or(settings.prefetch);
        settings.events_max = self.events_max.unwrap_or(settings.events_max);
        let events = self.events.unwrap_or(Published::All);
        let dependency_wait = self.unknown_dependency_wait.unwrap_or(DEPENDENCY_WAIT);
        let trusted = self.trusted.unwrap_or(false);
        Ok(Queue { name, settings, events, dependency_wait, trusted })
    }

    fn backend(&self, kind: Kind, environment: &Environment) -> Result<Backend, String> {
        let tls = self.tls()?;
        let address = |usual| Address {
            host: self.host.clone().unwrap_or_else(|| HOST.to_owned()),
            port: self.port.unwrap_or(usual),
        };
        let credentials = self.credentials(environment)?;
        Ok(match kind {
            Kind::Redis => Backend::Redis(RedisSettings {
                address: address(6379),
                db: self.db.unwrap_or(0),
                credentials,
                tls,
                dispatch_by: self.dispatch_by.unwrap_or(DispatchBy::Stream),
                trim: self.trim.unwrap_or(true),
            }),
            Kind::RabbitMq => Backend::RabbitMq(RabbitMqSettings {
                address: address(if tls.is_some() { 5671 } else { 5672 }),
                virtual_host: self.virtual_host.clone().unwrap_or_else(|| "/".to_owned()),
                credentials,
                tls,
                queues: self.queue_type.unwrap_or(QueueKind::Quorum),
            }),
            Kind::Nats => Backend::Nats(NatsSettings { address: address(4222), credentials, tls }),
            Kind::ZeroMq => {
                let address = address(7080);
                if !address.is_loopback() && self.exposed != Some(true) {
                    return Err(format!(
                        "it listens on {}, where whoever reaches it may submit jobs and speak for \
                         workers; let it listen on 127.0.0.1, or set exposed to true",
                        address.host
                    ));
                }
                Backend::ZeroMq(ZeroMqSettings { address })
            }
            Kind::Sqlite => {
                let path = self.path.clone().ok_or("path is missing; give the SQLite file")?;
                Backend::Sqlite(SqliteSettings { path })
            }
        })
    }

    fn tls(&self) -> Result<Option<Tls>, String> {
        match (self.tls.unwrap_or(self.tls_ca.is_some()), &self.tls_ca) {
            (false, Some(_)) => Err("tls_ca is given but tls is false; remove one".to_owned()),
            (false, None) => Ok(None),
            (true, authorities) => Ok(Some(Tls { authorities: authorities.clone() })),
        }
    }

    fn credentials(&self, environment: &Environment) -> Result<Option<Credentials>, String> {
        let password = match (&self.password_env, &self.password_file) {
            (Some(_), Some(_)) => {
                return Err("password_env and password_file exclude each other".to_owned());
            }
            (Some(variable), None) => {
                let found = environment.iter().find(|(name, _)| name == variable);
                let (_, password) = found.ok_or_else(|| {
                    format!("password_env names the variable {variable}, which is not set")
                })?;
                Some(password.clone())
            }
            (None, Some(file)) => {
                let read = read_secret(file).map_err(|error| format!("password_file: {error}"))?;
                Some(read.trim_end_matches(['\r', '\n']).to_owned())
            }
            (None, None) => None,
        };
        match (self.user.clone(), password) {
            (user, Some(password)) => Ok(Some(Credentials { user, password })),
            (None, None) => Ok(None),
            (Some(user), None) => {
                Err(format!("the user {user} has no password; give password_env or password_file"))
            }
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Redis => "redis",
            Kind::RabbitMq => "rabbitmq",
            Kind::Nats => "nats",
            Kind::ZeroMq => "zeromq",
            Kind::Sqlite => "sqlite",
        }
    }
}

pub(super) fn kind(text: &str) -> Parsed<Kind> {
    let found = ALL.iter().find(|kind| kind.name() == text);
    found.copied().ok_or("redis, rabbitmq, nats, zeromq or sqlite")
}

fn text(text: &str) -> Parsed<String> {
    if text.is_empty() { Err("a text") } else { Ok(text.to_owned()) }
}

fn path(text: &str) -> Parsed<PathBuf> {
    if text.is_empty() { Err("the path of a file") } else { Ok(PathBuf::from(text)) }
}

fn queue_kind(text: &str) -> Parsed<QueueKind> {
    match text {
        "quorum" => Ok(QueueKind::Quorum),
        "classic" => Ok(QueueKind::Classic),
        _ => Err("quorum or classic"),
    }
}

fn dispatch_by(text: &str) -> Parsed<DispatchBy> {
    match text {
        "stream" => Ok(DispatchBy::Stream),
        "publish" => Ok(DispatchBy::Publish),
        _ => Err("stream or publish"),
    }
}

fn published(text: &str) -> Parsed<Published> {
    match text {
        "all" | "true" => Ok(Published::All),
        "ended" => Ok(Published::Ended),
        "none" | "false" => Ok(Published::None),
        _ => Err("all, ended or none"),
    }
}

fn duration(text: &str) -> Parsed<Duration> {
    Ok(Duration::from_micros(span(text)?.0))
}
