//! What all parts of a member share, and the task that does what the member decides.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future as _;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use bellwether_core::model::{Epoch, Seq};
use bellwether_wire::v1;
use openraft::raft::VoteRequest;
use openraft::{CommittedLeaderId, RaftMetrics, ServerState};
use tokio::sync::mpsc::UnboundedReceiver;
use tonic::Status;

use super::board::Board;
use super::network::Peers;
use super::store::Store;
use super::types::{LogId, NOBODY, Place, Raft, Vote, epoch_of, member_id};
use super::{membership, wire};
use crate::clock;
use crate::door::MemberId;
use crate::member::{Act, Round, Voters};

/// A disk that does not answer for so long is as good as gone, and a leader on it helps nobody.
const STUCK_MAX: Duration = Duration::from_secs(2);
/// How long openraft may take to look at a snapshot.
const SAVED_PATIENCE: Duration = Duration::from_secs(10);
/// How often members that have caught up are looked for, and what is on the disk.
const ROUND: Duration = Duration::from_millis(250);

/// Clones are the same.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) id: MemberId,
    pub(crate) store: Store,
    pub(crate) board: Board,
    pub(crate) peers: Peers,
    /// Where this one is.
    pub(crate) own_place: Arc<Place>,
    raft: Arc<OnceLock<Raft>>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("id", &self.id).finish_non_exhaustive()
    }
}

type Metrics = RaftMetrics<u64, Place>;

impl Node {
    pub(crate) fn new(
        id: MemberId,
        place: Place,
        store: Store,
        board: Board,
        peers: Peers,
    ) -> Node {
        let own_place = Arc::new(place);
        Node { id, store, board, peers, own_place, raft: Arc::default() }
    }

    pub(crate) fn set_raft(&self, raft: Raft) {
        // It is set once, when the member starts.
        drop(self.raft.set(raft));
    }

    pub(crate) fn raft(&self) -> Result<&Raft, Status> {
        self.raft.get().ok_or_else(|| Status::unavailable("this member is starting"))
    }

    pub(crate) fn metrics(&self) -> Option<Metrics> {
        self.raft.get().map(|raft| raft.metrics().borrow().clone())
    }

    fn own(&self) -> u64 {
        u64::from(self.id.0)
    }

    /// Where a member is, as far as this one knows.
    pub(crate) fn place(&self, id: MemberId) -> Option<Place> {
        let metrics = self.raft.get()?.metrics();
        let config = std::sync::Arc::clone(&metrics.borrow().membership_config);
        config.membership().get_node(&u64::from(id.0)).cloned()
    }

    /// Who answers to this leader.
    pub(crate) fn alive(&self) -> BTreeSet<u64> {
        let answering = self.board.look(|member| member.answering(clock::now()));
        answering.into_iter().map(|id| u64::from(id.0)).collect()
    }

    /// Forgets what lies before `seq`, for which a saved state stands.
    pub(crate) async fn forget_before(&self, seq: Seq) {
        let (Some(index), Some(raft)) = (self.store.index_before(seq), self.raft.get()) else {
            return;
        };
        // If the log has stopped, its metrics say so, too.
        drop(raft.trigger().snapshot().await);
        let wait = raft.wait(Some(SAVED_PATIENCE));
        let known = |at: &LogId| at.index >= index;
        let saved = wait.metrics(|seen| seen.snapshot.as_ref().is_some_and(known), "it is known");
        if saved.await.is_ok() {
            drop(raft.trigger().purge_log(index).await);
        }
    }

    /// Does what the member decides, until the member is dropped.
    pub(crate) async fn drive(self, mut acts: UnboundedReceiver<Act>) {
        let Ok(raft) = self.raft().cloned() else { return };
        let mut metrics = raft.metrics();
        let mut chores = tokio::time::interval(ROUND);
        loop {
            let deadline = self.board.look(|member| member.deadline());
            let wait = Duration::from_micros(deadline.minus(clock::now()).0);
            tokio::select! {
                act = acts.recv() => match act {
                    Some(act) => self.perform(&raft, act).await,
                    None => return,
                },
                changed = metrics.changed() => {
                    if changed.is_err() {
                        return self.board.break_down("the log has stopped".to_owned());
                    }
                }
                _ = chores.tick() => self.do_chores(&raft),
                () = tokio::time::sleep(wait) => {}
            }
            let seen = metrics.borrow_and_update().clone();
            self.take_in(&seen);
            self.board.tell(|member, now| member.handle_tick(now));
        }
    }

    /// What the log says about who leads.
    fn take_in(&self, metrics: &Metrics) {
        if let Err(fatal) = &metrics.running_state {
            self.board.break_down(format!("the log has stopped: {fatal}"));
        }
        let voters = voters_of(metrics);
        let epoch = epoch_of(metrics.current_term, self.own());
        let leads = metrics.state == ServerState::Leader;
        let applied = metrics.last_applied.is_some_and(|last| {
            let by = last.leader_id;
            by.term == metrics.current_term && by.node_id == self.own()
        });
        self.board.tell(|member, now| {
            member.handle_voters(now, voters);
            if !leads {
                member.handle_not_elected(now);
                return;
            }
            member.handle_elected(now, epoch);
            if applied {
                member.handle_barrier(epoch);
            }
        });
    }

    async fn perform(&self, raft: &Raft, act: Act) {
        match act {
            Act::Ask(round) => self.ask(round),
            Act::Elect => self.elect(raft),
            // If the log has stopped, its metrics say so, too.
            Act::Beat => drop(raft.trigger().heartbeat().await),
            Act::StepDown(epoch) => self.step_down(raft, epoch).await,
            // Done where it was decided.
            Act::Accede(_) | Act::ExtendLease(_) | Act::EndLease => {}
        }
    }

    /// Under the member's lock: a message of a leader that comes now is told to the member before it
    /// reaches the log, so it can't be confirmed first and betrayed by an older wish to stand.
    fn elect(&self, raft: &Raft) {
        self.board.tell(|member, _| {
            if member.wants_votes() {
                let trigger = raft.trigger();
                let mut elect = std::pin::pin!(trigger.elect());
                // Sent at the first poll, or never, if the log has stopped.
                let sent = elect.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                drop(sent);
            }
        });
    }

    /// A leader of openraft can't be asked to step down, but it yields to a vote of a higher term: for
    /// nobody, who never stands.
    async fn step_down(&self, raft: &Raft, epoch: Epoch) {
        let vote = Vote::new((epoch.0 >> 16) + 1, NOBODY);
        let last = LogId::new(CommittedLeaderId::new(u64::MAX, NOBODY), u64::MAX);
        // Refused while the lease runs that openraft itself counts; the member asks again.
        drop(raft.vote(VoteRequest::new(vote, Some(last))).await);
    }

    /// Asks all others whether they would vote for this member.
    fn ask(&self, round: Round) {
        let Some(metrics) = self.metrics() else { return };
        let last = self.store.last();
        let request = v1::PeerVoteRequest {
            pool: self.peers.pool(),
            vote: Some(wire::vote_to_wire(&Vote::new(metrics.current_term + 1, self.own()))),
            last: last.as_ref().map(wire::place_to_wire),
            probe: true,
        };
        let members = metrics.membership_config.membership();
        for (id, place) in members.nodes().filter(|(id, _)| **id != self.own()) {
            let (node, request) = (self.clone(), request.clone());
            let (from, address) = (member_id(*id), place.address.clone());
            tokio::spawn(async move {
                if node.would_be_given(&address, request).await.unwrap_or(false) {
                    node.board.tell(|member, _| member.handle_willing(round, from));
                }
            });
        }
    }

    async fn would_be_given(
        &self,
        address: &str,
        request: v1::PeerVoteRequest,
    ) -> Result<bool, Status> {
        let mut request = self.peers.request(request)?;
        request.set_timeout(Duration::from_millis(150));
        Ok(self.peers.client(address)?.vote(request).await?.into_inner().granted)
    }

    fn do_chores(&self, raft: &Raft) {
        if self.store.stuck_for() > STUCK_MAX {
            let why = format!(
                "the disk of {} has not answered for {STUCK_MAX:?}; start again once it does",
                self.store.dir().display()
            );
            self.board.break_down(why);
        }
        membership::promote_those_who_caught_up(self, raft);
        membership::announce(self);
    }
}

pub(crate) fn voters_of(metrics: &Metrics) -> Voters {
    let sets = metrics.membership_config.membership().get_joint_config();
    let set = |set: &BTreeSet<u64>| set.iter().copied().map(member_id).collect();
    Voters::new(sets.iter().map(set).collect())
}
