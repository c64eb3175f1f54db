//! What other members call.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bellwether_core::model::Epoch;
use bellwether_journal::disk::SnapshotFiles;
use bellwether_wire::v1;
use bellwether_wire::v1::peer_server::Peer;
use openraft::SnapshotMeta;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest};
use tokio::sync::Mutex;
use tonic::{Request, Response, Status};

use super::node::Node;
use super::store::{Content, Mark, SnapshotFile, mark_from_wire};
use super::types::{LogId, Vote, epoch_of, member_id};
use super::{membership, wire};

#[derive(Debug)]
pub(crate) struct PeerService {
    node: Node,
    token: Option<String>,
    incoming: Mutex<Option<Incoming>>,
}

/// A snapshot that is arriving.
#[derive(Debug)]
struct Incoming {
    mark: Mark,
    path: PathBuf,
    file: File,
    offset: u64,
}

impl Incoming {
    /// Goes on where an earlier attempt has ended. Others that were begun are of no use any more.
    fn open(dir: &Path, mark: Mark) -> io::Result<Incoming> {
        let path = dir.join(format!("incoming-{:020}.part", mark.head.seq.0));
        for entry in std::fs::read_dir(dir)? {
            let other = entry?.path();
            if other.extension().is_some_and(|end| end == "part") && other != path {
                std::fs::remove_file(other)?;
            }
        }
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        let offset = file.metadata()?.len();
        Ok(Incoming { mark, path, file, offset })
    }

    fn take(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset == self.offset {
            self.file.write_all_at(data, offset)?;
            self.offset += data.len() as u64;
        }
        Ok(())
    }

    fn begin_again(&mut self) -> io::Result<()> {
        self.offset = 0;
        self.file.set_len(0)
    }
}

impl PeerService {
    pub(crate) fn new(node: Node, token: Option<String>) -> PeerService {
        PeerService { node, token, incoming: Mutex::new(None) }
    }

    fn admit<T>(&self, request: Request<T>, pool: impl Fn(&T) -> &str) -> Result<T, Status> {
        if let Some(token) = &self.token {
            let given =
                request.metadata().get("authorization").and_then(|value| value.to_str().ok());
            let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
            // Equal hashes, compared in time that does not depend on the content.
            if blake3::hash(given.as_bytes()) != blake3::hash(token.as_bytes()) {
                return Err(Status::unauthenticated("members of this pool have another token"));
            }
        }
        let message = request.into_inner();
        if pool(&message) != self.node.peers.pool() {
            let text = format!("this scheduler belongs to the pool {:?}", self.node.peers.pool());
            return Err(Status::failed_precondition(text));
        }
        Ok(message)
    }

    /// A sign of life.
    fn hear(&self, vote: &Vote) {
        let leader = vote.leader_id();
        if self.node.store.vote().is_none_or(|known| *vote >= known) {
            let (id, epoch) = (member_id(leader.node_id), epoch_of(leader.term, leader.node_id));
            self.node.board.tell(|member, now| member.handle_leader(now, id, epoch));
        }
    }

    fn vote_and_last(&self) -> (Vote, Option<LogId>) {
        (self.node.store.vote().unwrap_or_default(), self.node.store.last())
    }
}

#[tonic::async_trait]
impl Peer for PeerService {
    async fn append(
        &self,
        request: Request<v1::PeerAppendRequest>,
    ) -> Result<Response<v1::PeerAppendResponse>, Status> {
        let message = self.admit(request, |message| &message.pool)?;
        let vote = wire::vote_from_wire(message.vote).map_err(garbled)?;
        self.hear(&vote);
        let entries: Result<Vec<_>, _> =
            message.entries.into_iter().map(wire::entry_from_wire).collect();
        let request = AppendEntriesRequest {
            vote,
            prev_log_id: message.prior.map(wire::place_from_wire),
            entries: entries.map_err(garbled)?,
            leader_commit: message.committed.map(wire::place_from_wire),
        };
        let answer = self.node.raft()?.append_entries(request).await.map_err(failed)?;
        let mut response = v1::PeerAppendResponse::default();
        match answer {
            AppendEntriesResponse::Success => {}
            AppendEntriesResponse::PartialSuccess(matching) => {
                response.partial = true;
                response.matching = matching.as_ref().map(wire::place_to_wire);
            }
            AppendEntriesResponse::Conflict => response.conflict = true,
            AppendEntriesResponse::HigherVote(vote) => {
                response.higher_vote = Some(wire::vote_to_wire(&vote));
            }
        }
        Ok(Response::new(response))
    }

    async fn vote(
        &self,
        request: Request<v1::PeerVoteRequest>,
    ) -> Result<Response<v1::PeerVoteResponse>, Status> {
        let message = self.admit(request, |message| &message.pool)?;
        let vote = wire::vote_from_wire(message.vote).map_err(garbled)?;
        let last = message.last.map(wire::place_from_wire);
        let (own_vote, own_last) = self.vote_and_last();
        let willing = if message.probe {
            last >= own_last && self.node.board.tell(|member, now| member.would_vote(now))
        } else {
            self.node.board.tell(|member, now| member.handle_vote_asked(now))
        };
        if message.probe || !willing {
            return Ok(Response::new(v1::PeerVoteResponse {
                vote: Some(wire::vote_to_wire(&own_vote)),
                granted: willing,
                last: own_last.as_ref().map(wire::place_to_wire),
            }));
        }
        let request = VoteRequest::new(vote, last);
        let answer = self.node.raft()?.vote(request).await.map_err(failed)?;
        Ok(Response::new(v1::PeerVoteResponse {
            vote: Some(wire::vote_to_wire(&answer.vote)),
            granted: answer.vote_granted,
            last: answer.last_log_id.as_ref().map(wire::place_to_wire),
        }))
    }

    async fn snapshot(
        &self,
        request: Request<v1::PeerSnapshotRequest>,
    ) -> Result<Response<v1::PeerSnapshotResponse>, Status> {
        let message = self.admit(request, |message| &message.pool)?;
        let vote = wire::vote_from_wire(message.vote).map_err(garbled)?;
        self.hear(&vote);
        let (own_vote, _) = self.vote_and_last();
        let answer = |vote: &Vote, offset| {
            Ok(Response::new(v1::PeerSnapshotResponse {
                vote: Some(wire::vote_to_wire(vote)),
                offset,
            }))
        };
        if own_vote > vote {
            return answer(&own_vote, 0);
        }
        let mark = message.mark.ok_or_else(|| Status::invalid_argument("it has no mark"))?;
        let mark = mark_from_wire(mark).map_err(garbled)?;
        let mut incoming = self.incoming.lock().await;
        let arriving = match &mut *incoming {
            Some(arriving) if arriving.mark == mark => arriving,
            other => other.insert(Incoming::open(self.node.store.dir(), mark)?),
        };
        arriving.take(message.offset, &message.data)?;
        let offset = arriving.offset;
        let complete = message.offset + message.data.len() as u64;
        if !message.done || complete != offset {
            return answer(&vote, offset);
        }
        let empty = offset == 0;
        if !empty && SnapshotFiles::check(&arriving.path, arriving.mark.head).is_err() {
            arriving.begin_again()?;
            return answer(&vote, 0);
        }
        let Some(Incoming { mark, path, .. }) = incoming.take() else {
            return answer(&vote, 0);
        };
        let content = if empty { Content::Empty } else { Content::Received(path) };
        let theirs = self.install(vote, mark, content).await?;
        answer(&theirs, offset)
    }

    async fn succeed(
        &self,
        request: Request<v1::PeerSucceedRequest>,
    ) -> Result<Response<v1::PeerSucceedResponse>, Status> {
        let message = self.admit(request, |message| &message.pool)?;
        if message.over {
            self.node.board.tell(|member, now| member.handle_named(now, Epoch(message.epoch)));
        }
        Ok(Response::new(v1::PeerSucceedResponse {}))
    }

    async fn join(
        &self,
        request: Request<v1::PeerJoinRequest>,
    ) -> Result<Response<v1::PeerJoinResponse>, Status> {
        let message = self.admit(request, |message| &message.pool)?;
        let member =
            message.member.ok_or_else(|| Status::invalid_argument("it names no member"))?;
        Ok(Response::new(membership::take_in(&self.node, wire::place_of(member)).await?))
    }
}

impl PeerService {
    async fn install(&self, vote: Vote, mark: Mark, content: Content) -> Result<Vote, Status> {
        let meta = SnapshotMeta {
            last_log_id: mark.last,
            last_membership: mark.membership.clone(),
            snapshot_id: format!("{}-{}", mark.head.seq, mark.last.map_or(0, |last| last.index)),
        };
        let snapshot =
            openraft::Snapshot { meta, snapshot: Box::new(SnapshotFile { mark, content }) };
        let installed = self.node.raft()?.install_full_snapshot(vote, snapshot).await;
        Ok(installed.map_err(|error| Status::unavailable(error.to_string()))?.vote)
    }
}

fn garbled(error: wire::Garbled) -> Status {
    Status::invalid_argument(error.to_string())
}

fn failed(error: openraft::error::RaftError<u64>) -> Status {
    Status::unavailable(error.to_string())
}
