//! The door to the others, by Raft.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::{Head, OpenError, ReadError, Reader, Record, Snapshots, TruncateError};
use bellwether_wire::v1;
use openraft::RaftMetrics;
use tokio::runtime::Runtime;
use tonic::Status;

use super::bell::Bell;
use super::journal::{self, RaftJournal};
use super::membership::{self, MembershipError};
use super::network::PeerSecurity;
use super::node::Node;
use super::start::{self, JoinError, RaftOptions, StartError, Started};
use super::store::Store;
use super::types::{Place, member_id};
use crate::door::{
    Cluster, ClusterError, ClusterStatus, Leader, MemberId, MemberStatus, News, Role,
};

/// Records that are read from the disk at once for one that is far behind.
const READ_RECORDS: usize = 500;
/// A successor that is at most so many entries behind may be named.
const SUCCESSOR_LAG_MAX: u64 = 1_000;
/// How long it may take to tell the successor.
const SUCCESSION_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the successor may take to have all of the log; soon after, the log is told to step down.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(80);
/// How long the parts of a member may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A member of a pool of schedulers that agree by Raft.
pub struct RaftCluster {
    node: Node,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    bell: Bell,
    /// Where the one that drives this is.
    position: Head,
    reigning: bool,
    /// Read from the disk and not told yet.
    read: VecDeque<Record>,
    told: Option<Option<Leader>>,
}

impl fmt::Debug for RaftCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaftCluster").field("id", &self.node.id).finish_non_exhaustive()
    }
}

/// To ask and to change members from other threads. Clones are the same.
#[derive(Debug, Clone)]
pub struct RaftHandle {
    node: Node,
    runtime: tokio::runtime::Handle,
}

impl RaftCluster {
    /// The member whose log is in the directory, if there is one.
    pub fn owner(dir: &Path) -> Result<Option<MemberId>, OpenError> {
        Store::owner(dir)
    }

    /// What is known to be committed, whether or not the member runs.
    pub fn look(dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        Store::look(dir)
    }

    /// Asks the pool of the member at `address` for a number; with it, and an empty directory,
    /// [`RaftCluster::start`] begins to take part. Asking again with the same identity gives the
    /// same number.
    pub fn join(
        address: &str,
        pool: &str,
        security: &PeerSecurity,
        place: &Place,
    ) -> Result<MemberId, JoinError> {
        start::ask_to_join(address, pool, security, place)
    }

    /// Makes an empty directory that of this member, which has just been given its number.
    pub fn prepare(dir: &Path, id: MemberId) -> Result<(), OpenError> {
        Store::open(dir, id, &Bell::default()).map(drop)
    }

    pub fn start(options: RaftOptions) -> Result<RaftCluster, StartError> {
        let Started { node, runtime, bell } = start::start(options)?;
        Ok(RaftCluster {
            node,
            runtime: Some(runtime),
            bell,
            position: Head::GENESIS,
            reigning: false,
            read: VecDeque::new(),
            told: None,
        })
    }

    pub fn handle(&self) -> RaftHandle {
        RaftHandle { node: self.node.clone(), runtime: self.runtime().handle().clone() }
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until it is dropped")
    }

    fn leader(&self) -> Option<Leader> {
        leader(&self.node)
    }

    /// The next thing that concerns one that follows.
    fn next(&mut self) -> Result<Option<News>, ClusterError> {
        if let Some(record) = self.read.pop_front() {
            return self.tell(record);
        }
        let (base, head, recent) = {
            let applied = self.node.store.applied();
            let recent = applied.recent_after(self.position.seq);
            (applied.base().head, applied.head(), recent)
        };
        if self.position.seq < base.seq {
            return self.fall_behind();
        }
        if let Some(recent) = recent {
            let record = recent.decode().map_err(|damage| broken(&damage))?;
            return self.tell(record);
        }
        if self.position.seq < head.seq {
            self.read = self.read_on()?;
            let record = self.read.pop_front();
            return record.map_or(Ok(None), |record| self.tell(record));
        }
        if self.position != head {
            return Err(ClusterError::Broken(format!(
                "at position {} this scheduler's journal is not that of the others; empty its data \
                 directory and join again",
                head.seq
            )));
        }
        self.begin_reign()
    }

    fn tell(&mut self, record: Record) -> Result<Option<News>, ClusterError> {
        if record.prior != self.position.chain {
            return Err(ClusterError::Broken(format!(
                "behind position {} this scheduler's journal is not that of the others; empty its \
                 data directory and join again",
                self.position.seq
            )));
        }
        self.position = record.head();
        Ok(Some(News::Committed(record)))
    }

    fn read_on(&self) -> Result<VecDeque<Record>, ClusterError> {
        let reader = self.node.store.reader().map_err(|error| broken(&error))?;
        let records = reader.read(self.position.seq.next()).map_err(|error| broken(&error))?;
        let some: Result<_, ReadError> = records.take(READ_RECORDS).collect();
        some.map_err(|error| broken(&error))
    }

    fn fall_behind(&mut self) -> Result<Option<News>, ClusterError> {
        let saved = self.node.store.snapshots().load().map_err(|error| broken(&error))?;
        let saved = saved.filter(|saved| saved.head.seq > self.position.seq);
        let Some(saved) = saved else { return Ok(None) };
        self.position = saved.head;
        Ok(Some(News::Behind(saved)))
    }

    fn begin_reign(&mut self) -> Result<Option<News>, ClusterError> {
        let Some(accession) = self.node.board.accession() else { return Ok(None) };
        let epoch = accession.epoch;
        if !self.node.board.tell(|member, now| member.handle_ready(now, epoch)) {
            return Ok(None);
        }
        let runtime = self.runtime().handle().clone();
        let journal = RaftJournal::new(self.node.clone(), runtime, accession, self.position)
            .map_err(|error| broken(&error))?;
        self.reigning = true;
        Ok(Some(News::Reign(Box::new(journal))))
    }
}

impl Cluster for RaftCluster {
    fn poll(&mut self, patience: Duration) -> Result<Option<News>, ClusterError> {
        let until = Instant::now() + patience;
        loop {
            let count = self.bell.count();
            if let Some(why) = self.node.board.broken() {
                return Err(ClusterError::Broken(why));
            }
            let leader = self.leader();
            if self.told.as_ref() != Some(&leader) {
                self.told = Some(leader.clone());
                return Ok(Some(News::Leader(leader)));
            }
            let news = if self.reigning { None } else { self.next()? };
            if news.is_some() {
                return Ok(news);
            }
            if !self.bell.wait(count, until) {
                return Ok(None);
            }
        }
    }

    fn follow(&mut self, from: Head) {
        self.position = from;
        self.reigning = false;
        self.read.clear();
    }

    fn resign(&mut self, to: Option<MemberId>) -> Result<(), ClusterError> {
        self.handle().resign(to)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        self.node.store.reader()
    }

    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        journal::truncate_before(&self.node, self.runtime().handle(), seq)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        self.node.store.snapshots()
    }

    fn status(&self) -> ClusterStatus {
        self.handle().status()
    }
}

impl Drop for RaftCluster {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if let Ok(raft) = self.node.raft() {
            // It ends with its tasks at the latest.
            let ended = async { tokio::time::timeout(SHUTDOWN_TIMEOUT, raft.shutdown()).await };
            drop(runtime.block_on(ended));
        }
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    }
}

impl RaftHandle {
    /// Begins a pool with these members, of which this one is one. All of them must be new; one of
    /// them begins, and only once.
    pub fn initialize(&self, members: BTreeMap<MemberId, Place>) -> Result<(), MembershipError> {
        let failed = |error: &dyn fmt::Display| MembershipError::Failed(error.to_string());
        let members: BTreeMap<u64, Place> =
            members.into_iter().map(|(id, place)| (u64::from(id.0), place)).collect();
        let raft = self.node.raft().map_err(|error| failed(&error))?;
        self.runtime.block_on(raft.initialize(members)).map_err(|error| failed(&error))
    }

    /// Takes a member out for good. Refused where too few would be left that answer.
    pub fn remove(&self, id: MemberId) -> Result<(), MembershipError> {
        self.runtime.block_on(membership::remove(&self.node, id))
    }

    pub fn resign(&self, to: Option<MemberId>) -> Result<(), ClusterError> {
        let Some(epoch) = self.node.board.look(|member| member.leading()) else { return Ok(()) };
        let Some((successor, place)) = self.successor(to)? else {
            self.node.board.tell(|member, now| member.handle_resigned(now));
            return Ok(());
        };
        self.runtime.block_on(async {
            let asked = self.succeed(&place, epoch, false).await;
            if let (Err(error), Some(_)) = (asked, to) {
                return Err(ClusterError::Unreachable(error.message().to_owned()));
            }
            self.node.board.tell(|member, now| member.handle_resigned(now));
            self.has_all(successor).await;
            // Without it another takes over, a moment later.
            drop(self.succeed(&place, epoch, true).await);
            Ok(())
        })
    }

    async fn succeed(&self, place: &Place, epoch: Epoch, over: bool) -> Result<(), Status> {
        let peers = &self.node.peers;
        let message = v1::PeerSucceedRequest { pool: peers.pool(), epoch: epoch.0, over };
        let mut request = peers.request(message)?;
        request.set_timeout(SUCCESSION_TIMEOUT);
        peers.client(&place.address)?.succeed(request).await.map(drop)
    }

    /// Waits, not for long, until the successor has all of the log: nothing is added to it any more.
    async fn has_all(&self, successor: u64) {
        let Ok(raft) = self.node.raft() else { return };
        let all = |metrics: &RaftMetrics<u64, Place>| {
            let replication = metrics.replication.as_ref();
            let has = replication.and_then(|known| known.get(&successor).copied().flatten());
            has.map(|log_id| log_id.index) >= metrics.last_log_index
        };
        // One that lacks something may be elected all the same.
        drop(raft.wait(Some(CATCH_UP_TIMEOUT)).metrics(all, "the successor has all").await);
    }

    /// The one that is named, or the one that has most of the log.
    fn successor(&self, to: Option<MemberId>) -> Result<Option<(u64, Place)>, ClusterError> {
        let Some(metrics) = self.node.metrics() else { return Ok(None) };
        let members = metrics.membership_config.membership();
        let end = metrics.last_log_index.unwrap_or(0);
        let replication = metrics.replication.unwrap_or_default();
        let position =
            |id: &u64| replication.get(id).copied().flatten().map_or(0, |log_id| log_id.index);
        let own = u64::from(self.node.id.0);
        if let Some(to) = to {
            let id = u64::from(to.0);
            let votes = members.voter_ids().any(|voter| voter == id);
            if !votes || position(&id) + SUCCESSOR_LAG_MAX < end {
                let why = if votes { "is too far behind" } else { "does not vote" };
                return Err(ClusterError::Unreachable(format!("member {to} {why}")));
            }
            return Ok(members.get_node(&id).map(|place| (id, place.clone())));
        }
        let others = members.voter_ids().filter(|id| *id != own);
        let best = others.max_by_key(|id| (position(id), std::cmp::Reverse(*id)));
        Ok(best.and_then(|id| Some((id, members.get_node(&id)?.clone()))))
    }

    pub fn status(&self) -> ClusterStatus {
        let (role, epoch) = self.node.board.look(|member| {
            let epoch = member.leader().map(|(_, epoch)| epoch).or(member.leading());
            (member.role(), epoch)
        });
        let (committed, applied) = {
            let applied = self.node.store.applied();
            (applied.head().seq, applied.index())
        };
        let members = self.node.metrics().map_or(Vec::new(), |metrics| {
            let config = metrics.membership_config.membership();
            let voters: Vec<u64> = config.voter_ids().collect();
            let lag = |id: u64| {
                let replication = metrics.replication.as_ref()?;
                let matched = replication.get(&id).copied().flatten()?.index;
                Some(applied?.saturating_sub(matched))
            };
            config
                .nodes()
                .map(|(id, place)| MemberStatus {
                    id: member_id(*id),
                    address: place.address.clone(),
                    votes: voters.contains(id),
                    // Entries are not positions; whoever lacks none is where the leader is.
                    position: lag(*id).filter(|lag| *lag == 0).map(|_| committed),
                })
                .collect()
        });
        ClusterStatus {
            id: self.node.id,
            role,
            leader: leader(&self.node),
            epoch: epoch.unwrap_or_default(),
            committed,
            members,
        }
    }

    pub fn is_leading(&self) -> bool {
        self.node.board.look(|member| member.role()) == Role::Reigning
    }
}

fn leader(node: &Node) -> Option<Leader> {
    let (id, epoch) = node.board.look(|member| member.leader())?;
    let Place { grpc, http, .. } = node.place(id)?;
    Some(Leader { id, epoch, grpc, http })
}

fn broken(error: &dyn fmt::Display) -> ClusterError {
    ClusterError::Broken(error.to_string())
}
