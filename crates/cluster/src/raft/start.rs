//! How a member comes to life.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bellwether_journal::OpenError;
use bellwether_wire::v1;
use bellwether_wire::v1::peer_server::PeerServer;
use openraft::{Config, SnapshotPolicy};
use tokio::runtime::{Builder, Runtime};
use tonic::Code;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use super::bell::Bell;
use super::board::Board;
use super::network::{MESSAGE_BYTES_MAX, Network, PeerSecurity, Peers};
use super::node::Node;
use super::service::PeerService;
use super::store::Store;
use super::types::{Place, Raft};
use super::wire;
use crate::clock;
use crate::door::MemberId;
use crate::member::{Member, Timing};

/// Connections and the log need little; the disk has a thread of its own.
const THREADS: usize = 2;
/// How long one that wants to join waits for an answer.
const JOIN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct RaftOptions {
    /// Where this member keeps the log and its snapshots; of no other.
    pub dir: PathBuf,
    pub id: MemberId,
    /// Where this member is; others are told when it has moved.
    pub place: Place,
    /// A journal with its leader, workers and queues; members of other pools are refused.
    pub pool: String,
    /// What other members connect to.
    pub listener: TcpListener,
    pub security: PeerSecurity,
    pub timing: Timing,
    /// For what is left to chance; members of one pool should have different ones.
    pub seed: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the log could not be started: {0}")]
    Log(String),
    #[error("other members can't be served: {0}")]
    Serve(String),
}

#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("{address} can't be reached: {why}")]
    Unreachable { address: String, why: String },
    #[error("{address} refuses: {why}")]
    Refused { address: String, why: String },
    #[error("nobody leads at the moment; try again")]
    NoLeader,
    #[error("the joining could not be prepared: {0}")]
    Io(#[from] std::io::Error),
}

impl JoinError {
    /// Whether it may be otherwise in a moment.
    pub fn may_pass(&self) -> bool {
        match self {
            JoinError::Unreachable { .. } | JoinError::NoLeader => true,
            JoinError::Refused { .. } | JoinError::Io(_) => false,
        }
    }
}

/// A member that runs.
pub(super) struct Started {
    pub(super) node: Node,
    pub(super) runtime: Runtime,
    pub(super) bell: Bell,
}

pub(super) fn start(options: RaftOptions) -> Result<Started, StartError> {
    let runtime = runtime()?;
    let bell = Bell::default();
    let store = Store::open(&options.dir, options.id, &bell)?;
    let member = Member::new(options.id, options.seed, options.timing, clock::now());
    let (board, acts) = Board::new(member, &bell);
    let peers = Peers::new(&options.pool, options.security.clone());
    let node = Node::new(options.id, options.place, store.clone(), board.clone(), peers.clone());
    let service = PeerService::new(node.clone(), options.security.token.clone());
    let config = Arc::new(config(&options.pool, options.timing));
    let network = Network { peers, board };
    let (id, log, machine) = (u64::from(options.id.0), store.log(), store.machine());
    let raft = runtime.block_on(Raft::new(id, config, network, log, machine));
    node.set_raft(raft.map_err(|error| StartError::Log(error.to_string()))?);
    serve(&runtime, options.listener, service, &options.security)?;
    runtime.spawn(node.clone().drive(acts));
    Ok(Started { node, runtime, bell })
}

fn runtime() -> Result<Runtime, StartError> {
    Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("raft")
        .enable_all()
        .build()
        .map_err(|error| StartError::Log(error.to_string()))
}

fn config(pool: &str, timing: Timing) -> Config {
    let lease = timing.lease.as_millis();
    Config {
        cluster_name: pool.to_owned(),
        // What openraft calls so is how long a message may take; we give the signs of life.
        heartbeat_interval: lease * 3 / 4,
        election_timeout_min: lease - 1,
        // And this is for how long a vote is promised.
        election_timeout_max: lease,
        enable_heartbeat: false,
        enable_elect: false,
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: u64::MAX,
        max_payload_entries: 1_000,
        ..Config::default()
    }
}

fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    service: PeerService,
    security: &PeerSecurity,
) -> Result<(), StartError> {
    let failed = |error: &dyn std::fmt::Display| StartError::Serve(error.to_string());
    let mut server = Server::builder();
    if let Some(tls) = &security.tls {
        let config = ServerTlsConfig::new()
            .identity(Identity::from_pem(&tls.certificate, &tls.key))
            .client_ca_root(Certificate::from_pem(&tls.authority));
        server = server.tls_config(config).map_err(|error| failed(&error))?;
    }
    listener.set_nonblocking(true).map_err(|error| failed(&error))?;
    let _inside = runtime.enter();
    let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| failed(&error))?;
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let service = PeerServer::new(service)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    runtime.spawn(async move {
        if let Err(error) = server.add_service(service).serve_with_incoming(incoming).await {
            tracing::error!(%error, "other members are no longer served");
        }
    });
    Ok(())
}

/// Asks the pool that the member at this address belongs to for a number.
pub(super) fn ask_to_join(
    address: &str,
    pool: &str,
    security: &PeerSecurity,
    place: &Place,
) -> Result<MemberId, JoinError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let peers = Peers::new(pool, security.clone());
    let mut address = address.to_owned();
    // Once for the member that was named, once for the leader that it names.
    for _ in 0..2 {
        let answer = runtime.block_on(ask(&peers, &address, place)).map_err(|status| {
            let (address, why) = (address.clone(), status.message().to_owned());
            match status.code() {
                Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {
                    JoinError::Unreachable { address, why }
                }
                _ => JoinError::Refused { address, why },
            }
        })?;
        if let Ok(id @ 1..) = u16::try_from(answer.id) {
            return Ok(MemberId(id));
        }
        address = answer.leader.ok_or(JoinError::NoLeader)?.address;
    }
    Err(JoinError::NoLeader)
}

async fn ask(
    peers: &Peers,
    address: &str,
    place: &Place,
) -> Result<v1::PeerJoinResponse, tonic::Status> {
    let member = Some(wire::member_info(0, place));
    let mut request = peers.request(v1::PeerJoinRequest { pool: peers.pool(), member })?;
    request.set_timeout(JOIN_TIMEOUT);
    Ok(peers.client(address)?.join(request).await?.into_inner())
}
