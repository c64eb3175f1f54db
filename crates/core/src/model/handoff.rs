//! One worker gives the job that it holds to another: what it signed, which is also a link of the
//! chain that the next one verifies.

use std::fmt;

use super::ids::NameError;
use super::{Epoch, JobId, Name, Target, Timestamp, Token, WorkerId, WorkerKey};

/// What a receiver begins with that is a role.
const ROLE: &str = "role:";

/// Who is to go on with a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    Worker(WorkerId),
    /// Any worker that has it.
    Role(Name),
}

impl Receiver {
    /// The id of a worker, or `role:` and a role.
    pub fn parse(text: &str) -> Result<Receiver, NameError> {
        match text.strip_prefix(ROLE) {
            Some(role) => Name::new(role).map(Receiver::Role),
            None => WorkerId::new(text).map(Receiver::Worker),
        }
    }

    pub fn target(&self) -> Target {
        match self {
            Receiver::Worker(id) => Target::Receiver(id.clone()),
            Receiver::Role(role) => Target::Role(role.clone()),
        }
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Receiver::Worker(id) => id.fmt(f),
            Receiver::Role(role) => write!(f, "{ROLE}{role}"),
        }
    }
}

/// What a signature is over, and the signature. The edge has verified that the key made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// Who gives it away.
    pub from: WorkerId,
    pub job: JobId,
    pub receiver: Receiver,
    /// SHA-256 of the job's payload.
    pub payload_hash: [u8; 32],
    pub key: WorkerKey,
    /// The attempt that is given away.
    pub token: Token,
    /// The reign in which it was signed.
    pub epoch: Epoch,
    /// On the wall clock.
    pub expires: Timestamp,
    /// The signature of the handoff before it; zeros if it is the first of the job.
    pub previous: HandoffSignature,
    pub signature: HandoffSignature,
}

/// Ed25519.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HandoffSignature(pub [u8; 64]);

impl HandoffSignature {
    /// Stands for the one before the first.
    pub const NONE: HandoffSignature = HandoffSignature([0; 64]);
}

impl fmt::Debug for HandoffSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
