//! What a server is told when it starts: a file, then the environment, then flags.

mod file;
mod limits;
mod live;
mod queue;
mod secret;
mod settings;
pub mod value;
mod webhook;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bellwether_core::model::config::ConfigError;
use bellwether_core::model::{Config, KeyPolicy, Name};

pub use live::change;
pub use secret::Secret;
pub use value::bytes as parse_bytes;
pub use webhook::Webhook;

/// Every setting has a default: see `scheduler.yaml` for what each means.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub data_dir: PathBuf,
    pub journal: JournalKind,
    /// How it takes part among others, where the journal is one that they share.
    pub cluster: Cluster,
    pub grpc: SocketAddr,
    pub http: SocketAddr,
    /// Names under which HTTP is served, besides those of loopback.
    pub allowed_hosts: Vec<String>,
    pub tls: Option<TlsFiles>,
    pub auth: Auth,
    /// Roles and hashes of tokens; none: those in the data directory.
    pub tokens: Option<PathBuf>,
    /// Folders of the user in which clients look for the token that the scheduler makes.
    pub token_folders: Vec<PathBuf>,
    /// How workers that nobody has heard of come in; none: by where the scheduler listens.
    pub worker_keys: Option<KeyPolicy>,
    pub limits: Limits,
    pub checkpoints: CheckpointConfig,
    /// Events after which the state is saved anew.
    pub snapshot_every: u64,
    pub history: History,
    /// What is kept of what jobs print.
    pub logs: LogLimits,
    /// Bytes of disk that the data directory may take before new work is refused; none: all there is.
    pub disk_max: Option<u64>,
    /// Idempotency keys and ids that are kept on disk, beyond those in memory.
    pub idempotency_disk_max: u64,
    /// Serve metrics.
    pub telemetry: bool,
    /// The name of the queue that is written as `queue`, and which commands mean if they name none.
    pub default_queue: String,
    /// Who is told of events.
    pub webhooks: Vec<Webhook>,
    /// Where decisions and executions are written, too.
    pub clickhouse: Option<ClickHouse>,
    /// Where spans are sent.
    pub otlp: Option<Otlp>,
    pub log: Log,
    /// The queues in front, by name.
    pub queues: Vec<Queue>,
    /// What may be changed while the scheduler runs.
    pub scheduling: Config,
}

/// Whether whoever connects must show a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    On,
    /// On loopback alone.
    Off,
}

/// A collector of traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otlp {
    /// Of its gRPC interface.
    pub endpoint: String,
    /// The name under which this scheduler shows.
    pub service: String,
    /// Of jobs that come without a trace context, how many are traced.
    pub sample_permille: u32,
}

/// What is told on standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub format: LogFormat,
    /// A level, or levels of single parts, as `info,bellwether_server::clickhouse=debug`.
    pub level: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickHouse {
    /// Of its HTTP interface.
    pub url: String,
    pub database: String,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// Rows that may wait for it; beyond, the oldest are dropped.
    pub buffer_rows: usize,
    /// How long rows are gathered.
    pub flush_interval: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalKind {
    /// Plain files, made for this.
    File,
    Sqlite,
    /// Of several schedulers, in a Redis server that they share.
    Redis,
    /// The same in a PostgreSQL database.
    Postgres,
    /// Of several schedulers, each of which keeps it.
    Raft,
}

/// What a scheduler among others needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Of the shared server, as redis://127.0.0.1:6379.
    pub url: String,
    /// Tells clusters on one server apart.
    pub name: String,
    /// Where clients and workers reach this scheduler; none: where it listens.
    pub grpc: Option<String>,
    pub http: Option<String>,
    /// Where other members connect to, if they agree among themselves (`journal: raft`).
    pub listen: SocketAddr,
    /// Where they reach this one; none: where it listens.
    pub address: Option<String>,
    /// The authority whose certificates members show each other; their own are those of `tls`.
    pub ca: Option<PathBuf>,
    /// How long nobody else may lead after a leader has fallen silent; none: what suits the journal.
    pub lease: Option<Duration>,
    /// Takes a server that may lose what it has acknowledged when it crashes.
    pub allow_loss: bool,
    /// What chooses who stands, where the journal is in a server that all share.
    pub lock: LockKind,
    /// Where the lock is; empty: where the journal is.
    pub lock_url: String,
}

/// What elects a leader. Whatever it is, the journal fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// The lease in the journal itself.
    Journal,
    Redis,
    ZooKeeper,
}

impl LockKind {
    /// As it is written in the settings.
    pub fn named(name: &str) -> Option<LockKind> {
        match name {
            "journal" => Some(LockKind::Journal),
            "redis" => Some(LockKind::Redis),
            "zookeeper" => Some(LockKind::ZooKeeper),
            _ => None,
        }
    }
}

impl std::fmt::Display for LockKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LockKind::Journal => "journal",
            LockKind::Redis => "redis",
            LockKind::ZooKeeper => "zookeeper",
        })
    }
}

impl JournalKind {
    /// As it is written in the settings.
    pub fn named(name: &str) -> Option<JournalKind> {
        match name {
            "file" => Some(JournalKind::File),
            "sqlite" => Some(JournalKind::Sqlite),
            "redis" => Some(JournalKind::Redis),
            "postgres" => Some(JournalKind::Postgres),
            "raft" => Some(JournalKind::Raft),
            _ => None,
        }
    }
}

impl std::fmt::Display for JournalKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            JournalKind::File => "file",
            JournalKind::Sqlite => "sqlite",
            JournalKind::Redis => "redis",
            JournalKind::Postgres => "postgres",
            JournalKind::Raft => "raft",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Authorities whose certificates let workers in under the names that they are for.
    pub client_ca: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub message_bytes_max: usize,
    /// Connections that are served, on each address.
    pub connections_max: usize,
    /// Calls at a time on one connection.
    pub streams_max: u32,
    /// Longest time that a call may take to answer.
    pub call_timeout: Duration,
    /// Longest time that whoever follows events may take to take in the next ones.
    pub follow_timeout: Duration,
    /// Longest time until something that a connection asks is admitted.
    pub admitted_within: Duration,
}

/// When the scheduler signs what its journal is, and where that is written besides the data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// Zero: only at shutdown.
    pub every: Duration,
    pub file: Option<PathBuf>,
}

/// A queue that jobs come from, and what workers on it and listeners to it are told by.
#[derive(Debug, Clone)]
pub struct Queue {
    pub name: String,
    pub settings: bellwether_brokers::Settings,
    pub events: Published,
    /// How long a job may wait for one that it depends on to become known.
    pub dependency_wait: Duration,
    /// What workers say on it need not be signed.
    pub trusted: bool,
}

/// Which lifecycle events go out to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    All,
    /// How jobs ended, and nothing on the way there.
    Ended,
    None,
}

/// What the registry keeps of jobs that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    pub jobs_max: u64,
    pub keep_for: Duration,
}

/// What is kept of what jobs print, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    /// Of one attempt: half of it is its beginning, the other half its end. 0: nothing is kept.
    pub attempt_bytes_max: u64,
    /// Of all; beyond, the jobs that printed something longest ago lose theirs.
    pub total_bytes_max: u64,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            data_dir: PathBuf::from("data"),
            journal: JournalKind::Sqlite,
            cluster: Cluster::default(),
            grpc: SocketAddr::from((Ipv4Addr::LOCALHOST, 7070)),
            http: SocketAddr::from((Ipv4Addr::LOCALHOST, 7071)),
            allowed_hosts: Vec::new(),
            tls: None,
            auth: Auth::On,
            tokens: None,
            token_folders: Vec::new(),
            worker_keys: None,
            limits: Limits::default(),
            checkpoints: CheckpointConfig { every: Duration::from_secs(60), file: None },
            snapshot_every: 500_000,
            history: History { jobs_max: 1_000_000, keep_for: Duration::from_secs(30 * 86_400) },
            logs: LogLimits { attempt_bytes_max: 1 << 20, total_bytes_max: 1 << 30 },
            disk_max: None,
            // A day of more than the loop can take: what limits it is the disk.
            idempotency_disk_max: 5_000_000_000,
            telemetry: true,
            default_queue: "default".to_owned(),
            webhooks: Vec::new(),
            clickhouse: None,
            otlp: None,
            log: Log { format: LogFormat::Text, level: "info".to_owned() },
            queues: Vec::new(),
            scheduling: Config::default(),
        }
    }
}

impl Default for Cluster {
    fn default() -> Cluster {
        Cluster {
            url: String::new(),
            name: "bellwether".to_owned(),
            grpc: None,
            http: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7072)),
            address: None,
            ca: None,
            lease: None,
            allow_loss: false,
            lock: LockKind::Journal,
            lock_url: String::new(),
        }
    }
}

impl Default for Otlp {
    fn default() -> Otlp {
        let (endpoint, service) = (String::new(), "bellwether".to_owned());
        Otlp { endpoint, service, sample_permille: 10 }
    }
}

impl Default for ClickHouse {
    fn default() -> ClickHouse {
        ClickHouse {
            url: String::new(),
            database: "bellwether".to_owned(),
            user: None,
            password: None,
            buffer_rows: 100_000,
            flush_interval: Duration::from_secs(1),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message_bytes_max: 16 << 20,
            connections_max: 2_048,
            streams_max: 1_024,
            call_timeout: Duration::from_secs(60),
            follow_timeout: Duration::from_secs(30),
            admitted_within: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not valid YAML: {reason}", path.display())]
    Yaml { path: PathBuf, reason: String },
    #[error("{origin}: {key} is not known{}", suggestion(.nearest))]
    Unknown { origin: String, key: String, nearest: Option<&'static str> },
    #[error("{origin}: {key} is {given:?}; it must be {wanted}")]
    Value { origin: String, key: String, given: String, wanted: &'static str },
    #[error(transparent)]
    Scheduling(#[from] ConfigError),
    #[error("{key} can't be changed while the scheduler runs; change the file and start it again")]
    NotLive { key: String },
    #[error("{origin}: {reason}")]
    Change { origin: String, reason: String },
    #[error("{key} is missing")]
    Missing { key: String },
    #[error("tls.certificate and tls.key belong together; give both")]
    HalfTls,
    #[error("failed to read the password of {of} from {from}: {reason}")]
    Password { of: &'static str, from: String, reason: String },
    #[error("queue {name}: {reason}")]
    Queue { name: String, reason: String },
    #[error(
        "`queue` is the queue {name} (default_queue), and `queues` has one of that name, too; \
         rename one of them"
    )]
    SameQueue { name: String },
    #[error("default_queue is {name}, which is none of the queues; they are {names}")]
    DefaultQueue { name: String, names: String },
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean {key}?"))
}

impl ServerConfig {
    /// Where only this machine can come in, whoever comes first under an id is who it says.
    pub fn key_policy(&self) -> KeyPolicy {
        let local = self.grpc.ip().is_loopback();
        let usual = if local { KeyPolicy::FirstUse } else { KeyPolicy::Approved };
        self.worker_keys.unwrap_or(usual)
    }

    /// What several schedulers call the journal that they share, in other systems.
    pub(crate) fn shared_stream(&self) -> Option<Name> {
        match self.journal {
            JournalKind::File | JournalKind::Sqlite => None,
            JournalKind::Redis | JournalKind::Postgres | JournalKind::Raft => {
                let url = blake3::hash(self.cluster.url.as_bytes()).to_hex();
                Some(Name::fixed(&format!("{}-{}", self.cluster.name, &url[..8])))
            }
        }
    }

    /// Later sources win: the file, then variables as `BELLWETHER_MAX_RETRY` for `max_retry`, then
    /// `overrides`, which are pairs of a key and its value.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        overrides: &[(String, String)],
    ) -> Result<ServerConfig, LoadError> {
        let mut draft = settings::Draft::default();
        if let Some(path) = file {
            for (key, value) in file::read(path)? {
                draft.set(&path.display().to_string(), &key, &value)?;
            }
        }
        let environment: Vec<(String, String)> = environment.into_iter().collect();
        for (name, value) in &environment {
            if let Some(key) = settings::key_of_variable(name)? {
                draft.set("the environment", key, value)?;
            }
        }
        for (key, value) in overrides {
            draft.set("the command line", key, value)?;
        }
        draft.finish(&environment)
    }
}
