//! The way to take part that the settings ask for.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bellwether_cluster::raft::{JoinError, MembershipError, RaftHandle};
use bellwether_cluster::shared::{
    self, Address, Connect, LeaseLock, Lock, RecoverError, Recovered, SharedCluster, SharedOptions,
    ZooKeeperLock, ZooKeeperOptions,
};
use bellwether_cluster::{Cluster, ClusterError, MemberId};
use bellwether_journal::OpenError;
use bellwether_journal::postgres::{PostgresLog, PostgresOptions};
use bellwether_journal::redis::{RedisLog, RedisOptions};
use bellwether_journal::shared::{Candidate, SharedLog};
use bellwether_wire::private::PrivateError;

use super::raft;
use crate::config::{JournalKind, LockKind, ServerConfig};

/// The folder of the data directory that has what this scheduler knows of the journal of all.
const FOLDER: &str = "shared";
/// Parts of a lease after which it is renewed, and between two looks of those who follow.
const RENEWALS: u32 = 4;
const LOOKS: u32 = 20;
const LOOK_MAX: Duration = Duration::from_millis(25);
/// Without a word in the settings.
const LEASE: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum ClusterOpenError {
    #[error("this journal is one scheduler's own")]
    NotShared,
    #[error("cluster.url is missing: it says where the journal is that the schedulers share")]
    NoUrl,
    #[error("journal is {journal}; set `journal: raft` for members that keep the journal together")]
    NotRaft { journal: JournalKind },
    #[error(
        "{dir} belongs to no cluster; `bellwether cluster init` begins one, `bellwether cluster join \
         ADDRESS` joins one that is there"
    )]
    NoMember { dir: String },
    #[error("{dir} belongs to member {id} of a cluster already; `bellwether serve` starts it")]
    Member { dir: String, id: MemberId },
    #[error(
        "cluster.listen is {bound}, which nobody can connect to; say with cluster.address where \
         other members reach this one"
    )]
    NoAddress { bound: SocketAddr },
    #[error(
        "cluster.listen is {listen}, which can be reached from elsewhere, and cluster.ca is missing; \
         give it, with tls.certificate and tls.key, or listen on 127.0.0.1"
    )]
    Exposed { listen: SocketAddr },
    #[error("cluster.ca needs tls.certificate and tls.key: members show them to each other")]
    CaAlone,
    #[error(
        "cluster.lock is {lock}, and members of `journal: raft` elect among themselves; leave it out"
    )]
    LockOfRaft { lock: LockKind },
    #[error("cluster.lock is {lock}, and cluster.lock_url, which says where, is missing")]
    NoLockUrl { lock: LockKind },
    #[error("the lock could not be started: {0}")]
    Lock(std::io::Error),
    #[error("failed to listen on {address} for other members: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("failed to make the folder {folder}: {source}")]
    Folder { folder: String, source: std::io::Error },
    #[error("failed to read or write {}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Secret(#[from] PrivateError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Shared(#[from] shared::StartError),
    #[error(transparent)]
    Raft(#[from] bellwether_cluster::raft::StartError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Members(#[from] MembershipError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Recover(#[from] RecoverError),
}

/// Where others reach this scheduler.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    pub(crate) grpc: String,
    pub(crate) http: String,
}

impl Addresses {
    /// As the settings say, where nothing listens yet.
    pub(super) fn configured(config: &ServerConfig) -> Addresses {
        Addresses::of(config, config.grpc, config.http)
    }

    /// Of one that listens there.
    pub(crate) fn of(config: &ServerConfig, grpc: SocketAddr, http: SocketAddr) -> Addresses {
        let or = |given: &Option<String>, address: SocketAddr| {
            given.clone().unwrap_or_else(|| address.to_string())
        };
        Addresses { grpc: or(&config.cluster.grpc, grpc), http: or(&config.cluster.http, http) }
    }
}

/// A scheduler that takes part.
pub(crate) struct Opened {
    pub(crate) cluster: Box<dyn Cluster>,
    /// For changes of who takes part, where the members agree on that themselves.
    pub(crate) members: Option<Arc<RaftHandle>>,
}

pub(crate) fn open(
    config: &ServerConfig,
    addresses: &Addresses,
) -> Result<Opened, ClusterOpenError> {
    match config.journal {
        JournalKind::File | JournalKind::Sqlite => Err(ClusterOpenError::NotShared),
        JournalKind::Redis => take_part(config, addresses, redis(config)?),
        JournalKind::Postgres => take_part(config, addresses, postgres(config)?),
        JournalKind::Raft => {
            if config.cluster.lock != LockKind::Journal {
                return Err(ClusterOpenError::LockOfRaft { lock: config.cluster.lock });
            }
            let cluster = raft::take_part(config, addresses)?;
            let members = Some(Arc::new(cluster.handle()));
            Ok(Opened { cluster: Box::new(cluster), members })
        }
    }
}

/// Appends again what a shared journal has lost, from the copy in the data directory. No scheduler may run
/// on the directory, and none may lead.
pub fn recover(config: &ServerConfig) -> Result<Recovered, ClusterOpenError> {
    let connect = match config.journal {
        JournalKind::File | JournalKind::Sqlite | JournalKind::Raft => {
            return Err(ClusterOpenError::NotShared);
        }
        JournalKind::Redis => redis(config)?,
        JournalKind::Postgres => postgres(config)?,
    };
    Ok(shared::recover(&config.data_dir.join(FOLDER), &connect)?)
}

fn take_part(
    config: &ServerConfig,
    addresses: &Addresses,
    connect: Connect,
) -> Result<Opened, ClusterOpenError> {
    let folder = config.data_dir.join(FOLDER);
    make(&folder)?;
    let address = Address { grpc: addresses.grpc.clone(), http: addresses.http.clone() };
    let lease = config.cluster.lease.unwrap_or(LEASE);
    let options = SharedOptions {
        lease,
        renew_every: lease / RENEWALS,
        poll_every: (lease / LOOKS).min(LOOK_MAX),
        ..SharedOptions::default()
    };
    let mut cluster = SharedCluster::open(&folder, address, connect, options)?;
    if let Some(lock) = lock(config, cluster.candidate().clone(), options)? {
        cluster.elect_by(lock);
    }
    Ok(Opened { cluster: Box::new(cluster), members: None })
}

/// What elects, if it is not the journal.
fn lock(
    config: &ServerConfig,
    me: Candidate,
    options: SharedOptions,
) -> Result<Option<Box<dyn Lock>>, ClusterOpenError> {
    let (cluster, name) = (&config.cluster, &config.cluster.name);
    let lock = cluster.lock;
    let place = match (lock, cluster.lock_url.as_str()) {
        (LockKind::Journal, _) => return Ok(None),
        // The journal's own server, if that is one.
        (LockKind::Redis, "") if config.journal == JournalKind::Redis => cluster.url.clone(),
        (LockKind::Redis | LockKind::ZooKeeper, "") => {
            return Err(ClusterOpenError::NoLockUrl { lock });
        }
        (LockKind::Redis | LockKind::ZooKeeper, given) => given.to_owned(),
    };
    Ok(Some(match lock {
        LockKind::Journal | LockKind::Redis => {
            let options_of_log = RedisOptions {
                url: place,
                authorities: None,
                prefix: format!("{name}-lock"),
                // A lock that is forgotten is taken again; what must not be lost is in the journal.
                allow_loss: true,
            };
            let connect: Connect = Arc::new(move || {
                Ok(Box::new(RedisLog::new(&options_of_log)?) as Box<dyn SharedLog>)
            });
            Box::new(LeaseLock::start(connect, me, options).map_err(ClusterOpenError::Lock)?)
        }
        LockKind::ZooKeeper => {
            let options = ZooKeeperOptions {
                servers: place,
                folder: format!("/{name}"),
                session: options.lease,
            };
            Box::new(ZooKeeperLock::start(options).map_err(ClusterOpenError::Lock)?)
        }
    }))
}

fn url(config: &ServerConfig) -> Result<String, ClusterOpenError> {
    if config.cluster.url.is_empty() {
        return Err(ClusterOpenError::NoUrl);
    }
    Ok(config.cluster.url.clone())
}

fn postgres(config: &ServerConfig) -> Result<Connect, ClusterOpenError> {
    let options = PostgresOptions {
        url: url(config)?,
        schema: config.cluster.name.clone(),
        allow_loss: config.cluster.allow_loss,
    };
    Ok(Arc::new(move || Ok(Box::new(PostgresLog::new(&options)?) as Box<dyn SharedLog>)))
}

fn redis(config: &ServerConfig) -> Result<Connect, ClusterOpenError> {
    let options = RedisOptions {
        url: url(config)?,
        authorities: None,
        prefix: config.cluster.name.clone(),
        allow_loss: config.cluster.allow_loss,
    };
    Ok(Arc::new(move || Ok(Box::new(RedisLog::new(&options)?) as Box<dyn SharedLog>)))
}

fn make(folder: &Path) -> Result<(), ClusterOpenError> {
    std::fs::create_dir_all(folder).map_err(|source| {
        let folder = folder.display().to_string();
        ClusterOpenError::Folder { folder, source }
    })
}
