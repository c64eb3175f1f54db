//! Who belongs to the pool, and how that changes while it works.

use std::collections::BTreeSet;
use std::time::Duration;

use bellwether_wire::v1;
use openraft::{ChangeMembers, ServerState};
use tonic::Status;

use super::node::Node;
use super::types::{Place, Raft};
use super::wire;
use crate::door::MemberId;

/// A member that is at most so many entries behind has caught up.
const LAG_MAX: u64 = 100;
/// How long one may take to hear that a member has moved.
const ANNOUNCEMENT_TIMEOUT: Duration = Duration::from_millis(200);
/// A member that has just died is known to be missing after so long.
const NOTICE: Duration = Duration::from_millis(500);
/// A change that was not confirmed by then may still come true.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    #[error("this scheduler does not lead; ask {0}")]
    NotLeader(String),
    #[error("there is no member {0}")]
    Unknown(MemberId),
    #[error(
        "without member {0} only {1} of {2} voting members would be left that answer, which is no \
         majority; bring another one back first"
    )]
    BreaksQuorum(MemberId, usize, usize),
    #[error("member {0} is the only one that votes; stop it instead")]
    Last(MemberId),
    #[error("the members could not be changed: {0}")]
    Failed(String),
}

/// Gives a new member its number and begins to send it the log. Whoever asks again gets the same one.
pub(super) async fn take_in(node: &Node, place: Place) -> Result<v1::PeerJoinResponse, Status> {
    let raft = node.raft()?;
    let Some(metrics) = node.metrics() else { return Err(Status::unavailable("it is starting")) };
    let members = metrics.membership_config.membership();
    let listed = members.nodes().map(|(id, place)| wire::member_info(*id, place)).collect();
    let leader = metrics.current_leader.and_then(|id| Some((id, members.get_node(&id)?)));
    let mut response = v1::PeerJoinResponse {
        id: 0,
        leader: leader.map(|(id, place)| wire::member_info(id, place)),
        members: listed,
    };
    if metrics.state != ServerState::Leader {
        return Ok(response);
    }
    let known = members
        .nodes()
        .find(|(_, known)| !place.identity.is_empty() && known.identity == place.identity);
    let id = match known {
        Some((id, _)) => *id,
        None => u64::from(node.store.applied().last_member()) + 1,
    };
    if u16::try_from(id).is_err() {
        return Err(Status::resource_exhausted("all numbers for members have been given"));
    }
    let changed = match known {
        Some((_, known)) if *known == place => Ok(()),
        // It has moved.
        Some(_) => {
            let change = ChangeMembers::SetNodes([(id, place)].into());
            raft.change_membership(change, true).await.map(drop)
        }
        None => raft.add_learner(id, place, false).await.map(drop),
    };
    changed.map_err(|error| Status::unavailable(error.to_string()))?;
    response.id = u32::try_from(id).unwrap_or(0);
    Ok(response)
}

/// A member that has caught up may vote.
pub(super) fn promote_those_who_caught_up(node: &Node, raft: &Raft) {
    let Some(metrics) = node.metrics() else { return };
    let Some(replication) = &metrics.replication else { return };
    let members = metrics.membership_config.membership();
    if metrics.state != ServerState::Leader || members.get_joint_config().len() > 1 {
        return;
    }
    let end = metrics.last_log_index.unwrap_or(0);
    // One that has died since would be missed in every majority.
    let alive = node.alive();
    let caught_up = |id: &u64| {
        if !alive.contains(id) {
            return false;
        }
        let matched = replication.get(id).copied().flatten().map(|log_id| log_id.index);
        matched.is_some_and(|index| index + LAG_MAX >= end)
    };
    let ready: BTreeSet<u64> = members.learner_ids().filter(caught_up).collect();
    if ready.is_empty() {
        return;
    }
    let raft = raft.clone();
    // It waits for two commits; signs of life must not.
    tokio::spawn(async move {
        if let Err(error) = raft.change_membership(ChangeMembers::AddVoterIds(ready), true).await {
            tracing::debug!(%error, "members that have caught up do not vote yet");
        }
    });
}

/// A member that is elsewhere than the others think tells the leader.
pub(super) fn announce(node: &Node) {
    let Some(known) = node.place(node.id).filter(|known| *known != *node.own_place) else { return };
    let Some(metrics) = node.metrics() else { return };
    let node = node.clone();
    tokio::spawn(async move {
        let place = Place { identity: known.identity, ..(*node.own_place).clone() };
        if metrics.state == ServerState::Leader {
            return take_in(&node, place).await.map(drop);
        }
        let own = u64::from(node.id.0);
        let member = Some(wire::member_info(own, &place));
        // Whoever leads can't reach it where it was; any other can say who that is.
        for (_, at) in metrics.membership_config.nodes().filter(|(id, _)| **id != own) {
            let request = v1::PeerJoinRequest { pool: node.peers.pool(), member: member.clone() };
            let mut request = node.peers.request(request)?;
            request.set_timeout(ANNOUNCEMENT_TIMEOUT);
            let answer = node.peers.client(&at.address)?.join(request).await;
            if answer.is_ok_and(|answer| answer.into_inner().id > 0) {
                break;
            }
        }
        Ok(())
    });
}

/// Takes a member out, unless too few would be left that answer.
pub(super) async fn remove(node: &Node, id: MemberId) -> Result<(), MembershipError> {
    let failed = |error: &dyn std::fmt::Display| MembershipError::Failed(error.to_string());
    let raft = node.raft().map_err(|error| failed(&error))?;
    let metrics = node.metrics().ok_or_else(|| failed(&"this member is starting"))?;
    if metrics.state != ServerState::Leader {
        let leader = metrics.current_leader.and_then(|id| node.place(super::types::member_id(id)));
        return Err(MembershipError::NotLeader(
            leader.map_or("again in a moment".to_owned(), |place| place.grpc),
        ));
    }
    let members = metrics.membership_config.membership();
    let number = u64::from(id.0);
    if members.get_node(&number).is_none() {
        return Err(MembershipError::Unknown(id));
    }
    let voters: BTreeSet<u64> = members.voter_ids().collect();
    if !voters.contains(&number) {
        return change(raft, ChangeMembers::RemoveNodes([number].into())).await;
    }
    let left: BTreeSet<u64> = voters.into_iter().filter(|voter| *voter != number).collect();
    if left.is_empty() {
        return Err(MembershipError::Last(id));
    }
    tokio::time::sleep(NOTICE).await;
    let alive = node.alive();
    let answering = left.iter().filter(|voter| alive.contains(voter)).count();
    if answering <= left.len() / 2 {
        return Err(MembershipError::BreaksQuorum(id, answering, left.len()));
    }
    change(raft, ChangeMembers::RemoveVoters([number].into())).await
}

async fn change(raft: &Raft, to: ChangeMembers<u64, Place>) -> Result<(), MembershipError> {
    let changed = raft.change_membership(to, false);
    match tokio::time::timeout(CHANGE_TIMEOUT, changed).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(MembershipError::Failed(error.to_string())),
        Err(_) => Err(MembershipError::Failed(format!(
            "it was not confirmed within {CHANGE_TIMEOUT:?}; look at the members before you try again"
        ))),
    }
}
