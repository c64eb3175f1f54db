//! What the journal was at a moment, in the scheduler's own hand.

use super::{Epoch, HandoffSignature, Name, Seq, Timestamp, WorkerKey};

/// A past that was rewritten later does not lead here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Who signs.
    pub scheduler: Name,
    /// The last position that it stands for; a record ends there.
    pub position: Seq,
    /// The hash of all records up to there.
    pub chain: [u8; 32],
    pub epoch: Epoch,
    /// On the wall clock.
    pub at: Timestamp,
    pub key: WorkerKey,
    pub signature: HandoffSignature,
}
