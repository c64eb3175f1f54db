//! What a scheduler sees of the others.

use std::fmt;
use std::time::Duration;

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::{
    Head, Journal, ReadError, Reader, Record, Snapshot, Snapshots, TruncateError,
};

/// A scheduler among several. Numbers are given once and never again: a wiped disk is a new member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u16);

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who decides, and where clients and workers reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    pub id: MemberId,
    pub epoch: Epoch,
    pub grpc: String,
    pub http: String,
}

/// What happens among the schedulers, in the order in which it concerns this one.
pub enum News {
    /// Durable for good, the next one behind what this scheduler has. It is never told of the records
    /// that it has appended in the reign that it is in.
    Committed(Record),
    /// What follows this scheduler's position is no longer kept: it must start from this state.
    Behind(Snapshot),
    /// None while nobody is known to lead.
    Leader(Option<Leader>),
    /// It is this scheduler's turn. All that was committed before has been told, and nothing can be
    /// committed by others as long as this journal accepts appends. Its reign ends with an append
    /// that fails, or when its lease has run out; then the journal is dropped and
    /// [`Cluster::follow`] called.
    Reign(Box<dyn Journal>),
}

impl fmt::Debug for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            News::Committed(record) => f.debug_tuple("Committed").field(&record.head()).finish(),
            News::Behind(snapshot) => f.debug_tuple("Behind").field(&snapshot.head).finish(),
            News::Leader(leader) => f.debug_tuple("Leader").field(leader).finish(),
            News::Reign(journal) => f.debug_tuple("Reign").field(&journal.epoch()).finish(),
        }
    }
}

/// The way of one scheduler to take part. It is driven by one thread, which may wait here.
pub trait Cluster: Send {
    /// The next thing to know; none if nothing happens within `patience`.
    fn poll(&mut self, patience: Duration) -> Result<Option<News>, ClusterError>;

    /// From now on records behind `from` are told. To be called first, and after each reign.
    fn follow(&mut self, from: Head);

    /// Lets another lead, this one if it is named and up to date; nothing if this one does not.
    fn resign(&mut self, to: Option<MemberId>) -> Result<(), ClusterError>;

    /// What is committed as far as this machine has it, for those who only look: history and registry.
    fn reader(&self) -> Result<Box<dyn Reader>, ReadError>;

    /// Forgets records whose entries all lie before `seq`, on this machine; a saved state must stand
    /// for them. A log that is kept elsewhere is not this member's to shorten.
    fn truncate_before(&mut self, _seq: Seq) -> Result<(), TruncateError> {
        Ok(())
    }

    /// Where this member keeps the states that it has saved.
    fn snapshots(&self) -> Box<dyn Snapshots>;

    fn status(&self) -> ClusterStatus;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Following,
    /// It wants to lead and is asking for it.
    Standing,
    /// It may lead and is taking in what was committed before.
    Acceding,
    Reigning,
    /// It takes in what is committed but never stands and is not counted.
    Learning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterStatus {
    pub id: MemberId,
    pub role: Role,
    pub leader: Option<Leader>,
    pub epoch: Epoch,
    /// What this member knows to be committed.
    pub committed: Seq,
    pub members: Vec<MemberStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStatus {
    pub id: MemberId,
    pub address: String,
    /// Whether it counts for a majority.
    pub votes: bool,
    /// How far it has got, if this member knows.
    pub position: Option<Seq>,
}

#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// It may pass; the caller goes on polling.
    #[error("the others can't be reached: {0}")]
    Unreachable(String),
    /// This scheduler must not go on.
    #[error("{0}")]
    Broken(String),
}
