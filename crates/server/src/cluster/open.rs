//! The way to take part that the settings ask for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bellwether_cluster::shared::{
    self, Address, Connect, RecoverError, Recovered, SharedCluster, SharedOptions, StartError,
};
use bellwether_cluster::{Cluster, ClusterError};
use bellwether_journal::postgres::{PostgresLog, PostgresOptions};
use bellwether_journal::redis::{RedisLog, RedisOptions};
use bellwether_journal::shared::SharedLog;

use crate::config::{JournalKind, ServerConfig};

/// The folder of the data directory that has what this scheduler knows of the journal of all.
const FOLDER: &str = "shared";
/// Parts of a lease after which it is renewed, and between two looks of those who follow.
const RENEWALS: u32 = 4;
const LOOKS: u32 = 20;
const LOOK_MAX: Duration = Duration::from_millis(25);

#[derive(Debug, thiserror::Error)]
pub enum ClusterOpenError {
    #[error("this journal is one scheduler's own")]
    NotShared,
    #[error("cluster.url is missing: it says where the journal is that the schedulers share")]
    NoUrl,
    #[error("journal {kind} is not there yet; use redis or postgres")]
    NotThere { kind: &'static str },
    #[error("failed to make the folder {folder}: {source}")]
    Folder { folder: String, source: std::io::Error },
    #[error(transparent)]
    Start(#[from] StartError),
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

pub(crate) fn open(
    config: &ServerConfig,
    addresses: &Addresses,
) -> Result<Box<dyn Cluster>, ClusterOpenError> {
    match config.journal {
        JournalKind::File | JournalKind::Sqlite => Err(ClusterOpenError::NotShared),
        JournalKind::Redis => take_part(config, addresses, redis(config)?),
        JournalKind::Postgres => take_part(config, addresses, postgres(config)?),
        JournalKind::Raft => Err(ClusterOpenError::NotThere { kind: "raft" }),
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
) -> Result<Box<dyn Cluster>, ClusterOpenError> {
    let folder = config.data_dir.join(FOLDER);
    make(&folder)?;
    let address = Address { grpc: addresses.grpc.clone(), http: addresses.http.clone() };
    let lease = config.cluster.lease;
    let options = SharedOptions {
        lease,
        renew_every: lease / RENEWALS,
        poll_every: (lease / LOOKS).min(LOOK_MAX),
        ..SharedOptions::default()
    };
    Ok(Box::new(SharedCluster::open(&folder, address, connect, options)?))
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
