//! What the scheduler signs of its journal: position, chain and epoch.

use bellwether_core::model::{Checkpoint, Epoch, HandoffSignature, Name, Seq, Timestamp};

use super::canonical::Canonical;
use super::{BadSignature, Secret, verify};

const CHECKPOINT: &str = "bellwether/checkpoint/v1";

/// What the journal was at a moment.
#[derive(Debug, Clone)]
pub struct Draft {
    pub scheduler: Name,
    pub position: Seq,
    pub chain: [u8; 32],
    pub epoch: Epoch,
    /// On the wall clock.
    pub at: Timestamp,
}

pub fn sign(draft: Draft, secret: &Secret) -> Checkpoint {
    let Draft { scheduler, position, chain, epoch, at } = draft;
    let (key, signature) = (secret.public(), HandoffSignature::NONE);
    let mut checkpoint = Checkpoint { scheduler, position, chain, epoch, at, key, signature };
    checkpoint.signature = HandoffSignature(secret.sign(&statement(&checkpoint)));
    checkpoint
}

/// Whether the key that it names has signed it.
pub fn verify_checkpoint(checkpoint: &Checkpoint) -> Result<(), BadSignature> {
    verify(checkpoint.key, &statement(checkpoint), &checkpoint.signature.0)
}

fn statement(checkpoint: &Checkpoint) -> Vec<u8> {
    Canonical::new(CHECKPOINT)
        .text(checkpoint.scheduler.as_str())
        .number(checkpoint.position.0)
        .bytes(&checkpoint.chain)
        .number(checkpoint.epoch.0)
        .number(checkpoint.at.0)
        .finish()
}
