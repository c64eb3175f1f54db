//! Between the log's types and the schema, for peers and disk alike.

use std::collections::{BTreeMap, BTreeSet};

use bellwether_core::model::Seq;
use bellwether_journal::{Chain, Head};
use bellwether_wire::v1;
use openraft::{CommittedLeaderId, EntryPayload};

use super::types::{LogEntry, LogId, Membership, Place, Proposal, Vote};

#[derive(Debug, thiserror::Error)]
#[error("a message of another scheduler can't be understood: {0}")]
pub(crate) struct Garbled(pub(crate) &'static str);

pub(crate) fn vote_to_wire(vote: &Vote) -> v1::MemberVote {
    let leader = vote.leader_id();
    v1::MemberVote {
        term: leader.term,
        member: member_to_wire(leader.node_id),
        committed: vote.is_committed(),
    }
}

pub(crate) fn vote_from_wire(vote: Option<v1::MemberVote>) -> Result<Vote, Garbled> {
    let vote = vote.ok_or(Garbled("it has no vote"))?;
    let node = u64::from(vote.member);
    Ok(if vote.committed {
        Vote::new_committed(vote.term, node)
    } else {
        Vote::new(vote.term, node)
    })
}

pub(crate) fn place_to_wire(log_id: &LogId) -> v1::LogPlace {
    v1::LogPlace {
        term: log_id.leader_id.term,
        member: member_to_wire(log_id.leader_id.node_id),
        index: log_id.index,
    }
}

pub(crate) fn place_from_wire(place: v1::LogPlace) -> LogId {
    LogId::new(CommittedLeaderId::new(place.term, u64::from(place.member)), place.index)
}

pub(crate) fn entry_to_wire(entry: &LogEntry) -> v1::LogEntry {
    let (record, membership) = match &entry.payload {
        EntryPayload::Blank => (None, None),
        EntryPayload::Normal(proposal) => (Some(proposal_to_wire(proposal)), None),
        EntryPayload::Membership(membership) => (None, Some(membership_to_wire(membership))),
    };
    v1::LogEntry { place: Some(place_to_wire(&entry.log_id)), record, membership }
}

pub(crate) fn entry_from_wire(entry: v1::LogEntry) -> Result<LogEntry, Garbled> {
    let log_id = place_from_wire(entry.place.ok_or(Garbled("an entry has no place"))?);
    let payload = match (entry.record, entry.membership) {
        (None, None) => EntryPayload::Blank,
        (Some(record), None) => EntryPayload::Normal(proposal_from_wire(record)?),
        (None, Some(membership)) => EntryPayload::Membership(membership_from_wire(membership)),
        (Some(_), Some(_)) => return Err(Garbled("an entry is two things")),
    };
    Ok(LogEntry { log_id, payload })
}

fn proposal_to_wire(proposal: &Proposal) -> v1::ProposedRecord {
    v1::ProposedRecord {
        prior: proposal.prior.seq.0,
        prior_chain: proposal.prior.chain.0.to_vec().into(),
        last: proposal.head.seq.0,
        chain: proposal.head.chain.0.to_vec().into(),
        record: proposal.record.clone(),
    }
}

fn proposal_from_wire(record: v1::ProposedRecord) -> Result<Proposal, Garbled> {
    Ok(Proposal {
        prior: head_from_wire(record.prior, &record.prior_chain)?,
        head: head_from_wire(record.last, &record.chain)?,
        record: record.record,
    })
}

pub(crate) fn head_from_wire(seq: u64, chain: &[u8]) -> Result<Head, Garbled> {
    let chain = chain.try_into().map_err(|_| Garbled("a chain does not have 32 bytes"))?;
    Ok(Head { seq: Seq(seq), chain: Chain(chain) })
}

pub(crate) fn membership_to_wire(membership: &Membership) -> v1::Membership {
    let voters = membership
        .get_joint_config()
        .iter()
        .map(|set| v1::VoterSet { members: set.iter().copied().map(member_to_wire).collect() });
    let members = membership.nodes().map(|(id, place)| member_info(*id, place));
    v1::Membership { voters: voters.collect(), members: members.collect() }
}

pub(crate) fn membership_from_wire(membership: v1::Membership) -> Membership {
    let voters = membership.voters.into_iter();
    let sets: Vec<BTreeSet<u64>> =
        voters.map(|set| set.members.into_iter().map(u64::from).collect()).collect();
    let places: BTreeMap<u64, Place> = membership
        .members
        .into_iter()
        .map(|member| (u64::from(member.id), place_of(member)))
        .collect();
    Membership::new(sets, places)
}

pub(crate) fn member_info(id: u64, place: &Place) -> v1::ClusterMember {
    v1::ClusterMember {
        id: member_to_wire(id),
        address: place.address.clone(),
        grpc: place.grpc.clone(),
        http: place.http.clone(),
        identity: place.identity.clone(),
        level: place.level,
    }
}

pub(crate) fn place_of(member: v1::ClusterMember) -> Place {
    Place {
        address: member.address,
        grpc: member.grpc,
        http: member.http,
        identity: member.identity,
        level: member.level,
    }
}

fn member_to_wire(node: u64) -> u32 {
    u32::try_from(node).unwrap_or(u32::MAX)
}
