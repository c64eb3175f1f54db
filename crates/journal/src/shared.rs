//! A log in infrastructure that several schedulers reach: what a backend of it must be able to do.
//!
//! Every call is one round trip that the infrastructure carries out as a whole, or not at all. Leases
//! are counted by its clock, never by that of a scheduler. The log fences by itself: whatever elects,
//! an append of an older epoch is refused.

use std::time::Duration;

use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;

use crate::chain::{Chain, Head};
use crate::codec::decode::{self, Record};
use crate::journal::{AppendError, Damage, Flaw};
use crate::snapshot::Snapshot;

/// Who wants to lead, and where it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub member: u16,
    pub grpc: String,
    pub http: String,
}

/// The log as it is just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Before the first record that is kept.
    pub base: Head,
    pub head: Head,
    /// Of the latest reign; 0 before the first.
    pub epoch: Epoch,
    /// Whose reign that is, and for how much longer its lease runs at least. None once it is over.
    pub leader: Option<(Candidate, Duration)>,
}

/// A record as it is kept: its bytes, and the chain after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord {
    pub last: Seq,
    pub chain: Chain,
    pub bytes: Bytes,
}

impl RawRecord {
    /// After it.
    pub fn head(&self) -> Head {
        Head { seq: self.last, chain: self.chain }
    }

    /// Its entries, if it follows `prior`.
    pub fn decode(&self, prior: Head) -> Result<Record, Damage> {
        let record = decode::record(prior, self.chain, self.bytes.clone())?;
        if record.head() != self.head() {
            return Err(Damage {
                at: prior.seq.next(),
                flaw: Flaw::Gap { found: self.last.next() },
            });
        }
        Ok(record)
    }
}

pub trait SharedLog: Send {
    /// A number for a scheduler that is new here, which no other has had.
    fn enroll(&mut self) -> Result<u16, SharedError>;

    fn look(&mut self) -> Result<Sight, SharedError>;

    /// Begins a new reign, in the next epoch, unless the lease of another member still runs: one that
    /// was started again need not wait for its own. From then on appends of earlier epochs fail. The
    /// epoch is later than `after`, too, which the log may have forgotten.
    fn accede(
        &mut self,
        candidate: &Candidate,
        after: Epoch,
        lease: Duration,
    ) -> Result<Option<(Epoch, Head)>, SharedError>;

    /// Makes the lease run for this long again; false if the reign is over.
    fn renew(&mut self, epoch: Epoch, lease: Duration) -> Result<bool, SharedError>;

    /// Ends the reign, so that the next one need not wait for the lease to run out. Nothing more can be
    /// appended in it.
    fn resign(&mut self, epoch: Epoch) -> Result<(), SharedError>;

    /// Appends behind `prior` and renews the lease. [`AppendError::Deposed`] if it is not known whether
    /// it was appended.
    fn append(
        &mut self,
        epoch: Epoch,
        prior: Head,
        record: &RawRecord,
        lease: Duration,
    ) -> Result<(), AppendError>;

    /// Records behind `after`, which ends a record, of about so many bytes together, at least one if there is one.
    fn read(&mut self, after: Seq, bytes_max: usize) -> Result<Vec<RawRecord>, SharedError>;

    /// Keeps this state for those who join, and forgets records whose entries all lie before
    /// `before`.
    fn save_snapshot(
        &mut self,
        epoch: Epoch,
        snapshot: &Snapshot,
        before: Seq,
    ) -> Result<(), SharedError>;

    /// Gives a log in which nothing was appended yet this state to begin with.
    fn begin_at(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<(), SharedError>;

    fn load_snapshot(&mut self) -> Result<Option<Snapshot>, SharedError>;
}

#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    #[error("the shared journal can't be reached: {0}")]
    Unreachable(String),
    #[error("another scheduler has taken over (epoch {current})")]
    Fenced { current: Epoch },
    /// Acknowledged records are gone, or another log stands in its place.
    #[error("the shared journal has lost records: {0}")]
    Lost(String),
    #[error("the shared journal can't be used: {0}")]
    Unfit(String),
}
