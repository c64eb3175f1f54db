//! What the journal was at a moment, in the scheduler's own hand: a past that was rewritten later
//! does not lead there.

use bellwether_core::model::{Epoch, Seq, Timestamp, WorkerKey};

use super::canonical::Canonical;
use super::{BadSignature, Secret, verify};

const CHECKPOINT: &str = "bellwether/checkpoint/v1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub scheduler: String,
    /// The last position that it stands for.
    pub position: Seq,
    /// The hash of all records up to there.
    pub chain: [u8; 32],
    pub epoch: Epoch,
    /// On the wall clock.
    pub at: Timestamp,
}

impl Checkpoint {
    fn statement(&self) -> Vec<u8> {
        Canonical::new(CHECKPOINT)
            .text(&self.scheduler)
            .number(self.position.0)
            .bytes(&self.chain)
            .number(self.epoch.0)
            .number(self.at.0)
            .finish()
    }

    pub fn sign(&self, secret: &Secret) -> [u8; 64] {
        secret.sign(&self.statement())
    }

    pub fn verify(&self, key: WorkerKey, signature: &[u8]) -> Result<(), BadSignature> {
        verify(key, &self.statement(), signature)
    }
}
