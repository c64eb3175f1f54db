//! What the common log is about.

use std::fmt;

use bellwether_core::model::Epoch;
use bellwether_journal::Head;
use bytes::Bytes;

use super::store::SnapshotFile;
use crate::door::MemberId;

openraft::declare_raft_types!(
    /// A log of journal records.
    pub(crate) Records:
        D = Proposal,
        R = Taken,
        NodeId = u64,
        Node = Place,
        SnapshotData = SnapshotFile,
);

pub(crate) type Raft = openraft::Raft<Records>;
pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Vote = openraft::Vote<u64>;
pub(crate) type LogEntry = openraft::Entry<Records>;
pub(crate) type Membership = openraft::Membership<u64, Place>;
pub(crate) type StoredMembership = openraft::StoredMembership<u64, Place>;
pub(crate) type StorageError = openraft::StorageError<u64>;

/// A record of the journal, with the positions that it stands between.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) prior: Head,
    pub(crate) head: Head,
    pub(crate) record: Bytes,
}

impl fmt::Debug for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}..={}", self.prior.seq.0 + 1, self.head.seq)
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What became of an entry that was committed: how far the journal goes now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) head: Head,
}

/// Where a member is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// For other members.
    pub address: String,
    /// For clients and workers.
    pub grpc: String,
    pub http: String,
    /// What it is recognized by when it asks to join a second time.
    pub identity: String,
    /// The latest kinds of events that it can read.
    pub level: u32,
}

/// Node 0 is nobody: a vote for it makes a leader step down.
pub(crate) const NOBODY: u64 = 0;

/// The reign of a member in a term.
pub(crate) fn epoch_of(term: u64, node: u64) -> Epoch {
    Epoch(term << 16 | (node & 0xffff))
}

pub(crate) fn member_id(node: u64) -> MemberId {
    MemberId(u16::try_from(node).unwrap_or(u16::MAX))
}
