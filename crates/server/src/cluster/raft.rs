//! Members that agree among themselves: how a scheduler becomes one, and how it takes part.
//!
//! Whoever begins a cluster or joins one says so, once, by a command. A scheduler whose disk was wiped
//! therefore never begins a second cluster by itself, and never votes under its old number.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bellwether_cluster::MemberId;
use bellwether_cluster::member::Timing;
use bellwether_cluster::raft::{PeerSecurity, PeerTls, Place, RaftCluster, RaftOptions};
use bellwether_core::model::Micros;
use bellwether_wire::private::{make_folder, read_secret, write_secret};

use super::open::{Addresses, ClusterOpenError};
use crate::config::{JournalKind, ServerConfig};
use crate::edges::security::tokens;
use crate::identity::Identity;

/// What a member keeps in the data directory, and where it is made before it counts.
const FOLDER: &str = "raft";
const DRAFT: &str = "raft.new";
/// What the members of one cluster know each other by.
const TOKEN: &str = "token";
/// What one is recognized by that asks for a number a second time.
const IDENTITY: &str = "identity";
/// The number of the one that begins a cluster.
const FIRST: MemberId = MemberId(1);
/// The kinds of events that this build can read.
const LEVEL: u32 = 1;
/// How long the address for other members may be taken when this one starts.
const BIND_PATIENCE: Duration = Duration::from_secs(3);
const BIND_INTERVAL: Duration = Duration::from_millis(50);

/// How long one that others want to join may not answer.
const JOIN_PATIENCE: Duration = Duration::from_secs(10);
const JOIN_INTERVAL: Duration = Duration::from_millis(100);

/// What a scheduler has become.
#[derive(Debug)]
pub struct Enrolled {
    pub member: u16,
    /// Where other members reach it.
    pub address: String,
    /// The file that lets others join.
    pub token_file: PathBuf,
}

/// Begins a cluster with this scheduler as its only member.
pub fn init(config: &ServerConfig) -> Result<Enrolled, ClusterOpenError> {
    let draft = begin(config)?;
    // Left by one that was killed: nobody has joined it.
    remove(&draft)?;
    make(&draft)?;
    let token = tokens::random().map_err(|source| unwritable(&draft, source))?;
    write(&draft.join(TOKEN), &token)?;
    write(&draft.join(IDENTITY), &Identity::make_up())?;
    let options = options(config, &Addresses::configured(config), draft.clone(), FIRST)?;
    let place = options.place.clone();
    let cluster = RaftCluster::start(options)?;
    cluster.handle().initialize([(FIRST, place.clone())].into())?;
    drop(cluster);
    finish(config, &draft, FIRST, place)
}

/// Becomes a member of the cluster that the one at `address` belongs to. What its token file says lets
/// this one in.
pub fn join(
    config: &ServerConfig,
    address: &str,
    token_file: &Path,
) -> Result<Enrolled, ClusterOpenError> {
    let draft = begin(config)?;
    make(&draft)?;
    // Before anything is asked: whoever was killed on the way gets the same number again.
    if !draft.join(IDENTITY).exists() {
        write(&draft.join(IDENTITY), &Identity::make_up())?;
    }
    write(&draft.join(TOKEN), read_secret(token_file)?.trim())?;
    let place = place(config, &Addresses::configured(config), &draft, config.cluster.listen)?;
    let security = security(config, &draft)?;
    let ask = || RaftCluster::join(address, &config.cluster.name, &security, &place);
    let started = Instant::now();
    let id = loop {
        match ask() {
            // It may have been started a moment ago.
            Err(error) if error.may_pass() && started.elapsed() < JOIN_PATIENCE => {
                std::thread::sleep(JOIN_INTERVAL);
            }
            asked => break asked?,
        }
    };
    RaftCluster::prepare(&draft, id)?;
    finish(config, &draft, id, place)
}

pub(super) fn take_part(
    config: &ServerConfig,
    addresses: &Addresses,
) -> Result<RaftCluster, ClusterOpenError> {
    let folder = config.data_dir.join(FOLDER);
    let Some(id) = RaftCluster::owner(&folder)? else {
        return Err(ClusterOpenError::NoMember { dir: config.data_dir.display().to_string() });
    };
    Ok(RaftCluster::start(options(config, addresses, folder, id)?)?)
}

/// Where it is prepared, if this directory is nobody's yet.
fn begin(config: &ServerConfig) -> Result<PathBuf, ClusterOpenError> {
    if config.journal != JournalKind::Raft {
        return Err(ClusterOpenError::NotRaft { journal: config.journal });
    }
    if let Some(id) = RaftCluster::owner(&config.data_dir.join(FOLDER))? {
        let dir = config.data_dir.display().to_string();
        return Err(ClusterOpenError::Member { dir, id });
    }
    make(&config.data_dir)?;
    Ok(config.data_dir.join(DRAFT))
}

fn finish(
    config: &ServerConfig,
    draft: &Path,
    id: MemberId,
    place: Place,
) -> Result<Enrolled, ClusterOpenError> {
    let folder = config.data_dir.join(FOLDER);
    std::fs::rename(draft, &folder).map_err(|source| unwritable(&folder, source))?;
    Ok(Enrolled { member: id.0, address: place.address, token_file: folder.join(TOKEN) })
}

fn options(
    config: &ServerConfig,
    addresses: &Addresses,
    dir: PathBuf,
    id: MemberId,
) -> Result<RaftOptions, ClusterOpenError> {
    let security = security(config, &dir)?;
    let listener = listen(config.cluster.listen)?;
    let bound = listener.local_addr().unwrap_or(config.cluster.listen);
    let place = place(config, addresses, &dir, bound)?;
    let timing = config.cluster.lease.map_or_else(Timing::default, |lease| {
        Timing::with_lease(Micros(u64::try_from(lease.as_micros()).unwrap_or(u64::MAX)))
    });
    let pool = config.cluster.name.clone();
    Ok(RaftOptions { dir, id, place, pool, listener, security, timing, seed: u64::from(id.0) })
}

fn place(
    config: &ServerConfig,
    addresses: &Addresses,
    dir: &Path,
    bound: SocketAddr,
) -> Result<Place, ClusterOpenError> {
    let address = match &config.cluster.address {
        Some(address) => address.clone(),
        None if bound.ip().is_unspecified() => return Err(ClusterOpenError::NoAddress { bound }),
        None => bound.to_string(),
    };
    let Addresses { grpc, http } = addresses.clone();
    let identity = std::fs::read_to_string(dir.join(IDENTITY))
        .map_err(|source| unwritable(&dir.join(IDENTITY), source))?;
    let identity = identity.trim().to_owned();
    Ok(Place { address, grpc, http, identity, level: LEVEL })
}

/// Off loopback only with TLS, both ways.
fn security(config: &ServerConfig, dir: &Path) -> Result<PeerSecurity, ClusterOpenError> {
    let token = read_secret(&dir.join(TOKEN))?.trim().to_owned();
    let tls = match (&config.cluster.ca, &config.tls) {
        (Some(ca), Some(files)) => Some(PeerTls {
            certificate: pem(&files.certificate)?,
            key: read_secret(&files.key)?,
            authority: pem(ca)?,
        }),
        (Some(_), None) => return Err(ClusterOpenError::CaAlone),
        (None, _) if config.cluster.listen.ip().is_loopback() => None,
        (None, _) => return Err(ClusterOpenError::Exposed { listen: config.cluster.listen }),
    };
    Ok(PeerSecurity { token: Some(token), tls })
}

fn listen(address: SocketAddr) -> Result<TcpListener, ClusterOpenError> {
    let started = Instant::now();
    loop {
        match TcpListener::bind(address) {
            // One that was just killed may still be on its way out.
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && started.elapsed() < BIND_PATIENCE =>
            {
                std::thread::sleep(BIND_INTERVAL);
            }
            Err(source) => return Err(ClusterOpenError::Listen { address, source }),
            Ok(listener) => return Ok(listener),
        }
    }
}

fn make(folder: &Path) -> Result<(), ClusterOpenError> {
    make_folder(folder).map(drop).map_err(|source| {
        let folder = folder.display().to_string();
        ClusterOpenError::Folder { folder, source }
    })
}

fn remove(folder: &Path) -> Result<(), ClusterOpenError> {
    match std::fs::remove_dir_all(folder) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(unwritable(folder, source)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), ClusterOpenError> {
    write_secret(path, &format!("{text}\n")).map_err(|source| unwritable(path, source))
}

fn pem(path: &Path) -> Result<String, ClusterOpenError> {
    std::fs::read_to_string(path).map_err(|source| unwritable(path, source))
}

fn unwritable(path: &Path, source: io::Error) -> ClusterOpenError {
    ClusterOpenError::File { path: path.to_owned(), source }
}
