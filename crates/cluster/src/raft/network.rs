//! Calls of other members.

use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bellwether_wire::v1;
use bellwether_wire::v1::peer_client::PeerClient;
use openraft::error::{
    Fatal, NetworkError, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{AnyError, Snapshot};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use super::board::Board;
use super::store::{Content, SnapshotFile, mark_to_wire};
use super::types::{Place, Records, Vote, epoch_of, member_id};
use super::wire;
use crate::clock;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(150);
/// Whoever was not reached is tried again after so long.
const BACKOFF: Duration = Duration::from_millis(25);
const SNAPSHOT_BYTES: usize = 1 << 20;
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(10);
/// To take over a snapshot that has arrived, it is read once more.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);
/// A record can be as large as what a client may submit at once, and more.
pub(crate) const MESSAGE_BYTES_MAX: usize = 512 << 20;

/// How members know each other.
#[derive(Debug, Clone, Default)]
pub struct PeerSecurity {
    /// All members of a pool have the same.
    pub token: Option<String>,
    /// Who is trusted to be a member; none speaks in the clear.
    pub tls: Option<PeerTls>,
}

/// In PEM.
#[derive(Debug, Clone)]
pub struct PeerTls {
    pub certificate: String,
    pub key: String,
    pub authority: String,
}

/// Connections to others, made when they are needed. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Peers {
    pool: String,
    security: PeerSecurity,
    // Held to look one up or to add one: whoever calls a member first makes the connection for all.
    channels: Arc<Mutex<BTreeMap<String, Channel>>>,
}

impl Peers {
    pub(crate) fn new(pool: &str, security: PeerSecurity) -> Peers {
        Peers { pool: pool.to_owned(), security, channels: Arc::default() }
    }

    pub(crate) fn pool(&self) -> String {
        self.pool.clone()
    }

    pub(crate) fn client(&self, address: &str) -> Result<PeerClient<Channel>, Status> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match channels.get(address) {
            Some(channel) => channel.clone(),
            None => {
                let channel = self.endpoint(address)?.connect_lazy();
                channels.insert(address.to_owned(), channel.clone());
                channel
            }
        };
        Ok(PeerClient::new(channel)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX))
    }

    pub(crate) fn request<T>(&self, message: T) -> Result<Request<T>, Status> {
        let mut request = Request::new(message);
        if let Some(token) = &self.security.token {
            let value: MetadataValue<Ascii> = format!("Bearer {token}")
                .parse()
                .map_err(|_| Status::internal("the token of the members has odd characters"))?;
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }

    fn endpoint(&self, address: &str) -> Result<Endpoint, Status> {
        let scheme = if self.security.tls.is_some() { "https" } else { "http" };
        let odd = |error: tonic::transport::Error| {
            Status::invalid_argument(format!("{address} is no address of a member: {error}"))
        };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
            .map_err(odd)?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true);
        let Some(tls) = &self.security.tls else { return Ok(endpoint) };
        let config = ClientTlsConfig::new()
            .ca_certificate(tonic::transport::Certificate::from_pem(&tls.authority))
            .identity(tonic::transport::Identity::from_pem(&tls.certificate, &tls.key));
        endpoint.tls_config(config).map_err(odd)
    }
}

/// Makes the connections that openraft wants.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    pub(crate) peers: Peers,
    pub(crate) board: Board,
}

#[derive(Debug)]
pub(crate) struct Connection {
    network: Network,
    target: u64,
    address: String,
}

impl RaftNetworkFactory<Records> for Network {
    type Network = Connection;

    async fn new_client(&mut self, target: u64, node: &Place) -> Connection {
        Connection { network: self.clone(), target, address: node.address.clone() }
    }
}

type CallError = RPCError<u64, Place, RaftError<u64>>;

impl Connection {
    fn client(&self) -> Result<PeerClient<Channel>, Status> {
        self.network.peers.client(&self.address)
    }

    fn request<T>(&self, message: T) -> Result<Request<T>, Status> {
        self.network.peers.request(message)
    }

    async fn send_append(
        &self,
        request: v1::PeerAppendRequest,
    ) -> Result<v1::PeerAppendResponse, Status> {
        Ok(self.client()?.append(self.request(request)?).await?.into_inner())
    }

    async fn send_vote(
        &self,
        request: v1::PeerVoteRequest,
    ) -> Result<v1::PeerVoteResponse, Status> {
        Ok(self.client()?.vote(self.request(request)?).await?.into_inner())
    }

    async fn send_piece(
        &self,
        piece: v1::PeerSnapshotRequest,
    ) -> Result<v1::PeerSnapshotResponse, Status> {
        let patience = if piece.done { INSTALL_TIMEOUT } else { SNAPSHOT_TIMEOUT };
        let mut request = self.request(piece)?;
        request.set_timeout(patience);
        Ok(self.client()?.snapshot(request).await?.into_inner())
    }

    /// Sends the file from where the other one has it, as often as it takes.
    async fn send_file(&self, vote: Vote, snapshot: &SnapshotFile) -> Result<Vote, Status> {
        let piece = v1::PeerSnapshotRequest {
            pool: self.network.peers.pool(),
            vote: Some(wire::vote_to_wire(&vote)),
            mark: Some(mark_to_wire(&snapshot.mark)),
            ..v1::PeerSnapshotRequest::default()
        };
        let (file, length) = match &snapshot.content {
            Content::Kept(file) => (Some(file), file.metadata()?.len()),
            Content::Empty | Content::Received(_) => (None, 0),
        };
        let mut answer = self.send_piece(piece.clone()).await?;
        loop {
            let theirs = wire::vote_from_wire(answer.vote).map_err(garbled)?;
            if theirs > vote {
                return Ok(theirs);
            }
            let offset = answer.offset.min(length);
            let data = file.map_or(Ok(Vec::new()), |file| read_piece(file, offset))?;
            let done = offset + data.len() as u64 == length;
            let next = v1::PeerSnapshotRequest { offset, data: data.into(), done, ..piece.clone() };
            answer = self.send_piece(next).await?;
            if done && answer.offset >= length {
                return wire::vote_from_wire(answer.vote).map_err(garbled);
            }
        }
    }
}

fn read_piece(file: &File, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut buffer = vec![0; SNAPSHOT_BYTES];
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    buffer.truncate(filled);
    Ok(buffer)
}

impl RaftNetwork<Records> for Connection {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Records>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallError> {
        let leader = rpc.vote.leader_id();
        let epoch = epoch_of(leader.term, leader.node_id);
        let request = v1::PeerAppendRequest {
            pool: self.network.peers.pool(),
            vote: Some(wire::vote_to_wire(&rpc.vote)),
            prior: rpc.prev_log_id.as_ref().map(wire::place_to_wire),
            entries: rpc.entries.iter().map(wire::entry_to_wire).collect(),
            committed: rpc.leader_commit.as_ref().map(wire::place_to_wire),
        };
        // The promise of the one that answers counts from here.
        let started = clock::now();
        let answer = self.send_append(request).await.map_err(unreachable)?;
        if let Some(higher) = answer.higher_vote {
            let vote = wire::vote_from_wire(Some(higher)).map_err(unheard)?;
            return Ok(AppendEntriesResponse::HigherVote(vote));
        }
        let from = member_id(self.target);
        self.network.board.tell(|member, now| member.handle_confirmed(now, epoch, from, started));
        if answer.conflict {
            return Ok(AppendEntriesResponse::Conflict);
        }
        if answer.partial {
            let matching = answer.matching.map(wire::place_from_wire);
            return Ok(AppendEntriesResponse::PartialSuccess(matching));
        }
        Ok(AppendEntriesResponse::Success)
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<u64>,
        _option: RPCOption,
    ) -> Result<VoteResponse<u64>, CallError> {
        let request = v1::PeerVoteRequest {
            pool: self.network.peers.pool(),
            vote: Some(wire::vote_to_wire(&rpc.vote)),
            last: rpc.last_log_id.as_ref().map(wire::place_to_wire),
            probe: false,
        };
        let answer = self.send_vote(request).await.map_err(unreachable)?;
        let vote = wire::vote_from_wire(answer.vote).map_err(unheard)?;
        let last = answer.last.map(wire::place_from_wire);
        Ok(VoteResponse { vote, vote_granted: answer.granted, last_log_id: last })
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot<Records>,
        cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<Records, Fatal<u64>>> {
        let mut cancel = std::pin::pin!(cancel);
        loop {
            let sent = tokio::select! {
                closed = &mut cancel => return Err(closed.into()),
                sent = self.send_file(vote, &snapshot.snapshot) => sent,
            };
            match sent {
                Ok(theirs) => return Ok(SnapshotResponse::new(theirs)),
                Err(error) => {
                    tracing::debug!(%error, "a snapshot was cut off; it goes on from there")
                }
            }
            tokio::time::sleep(BACKOFF).await;
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}

fn unreachable(error: Status) -> CallError {
    RPCError::Unreachable(Unreachable::new(&AnyError::error(error.message())))
}

fn unheard(error: wire::Garbled) -> CallError {
    RPCError::Network(NetworkError::new(&AnyError::new(&error)))
}

fn garbled(error: wire::Garbled) -> Status {
    Status::internal(error.to_string())
}
