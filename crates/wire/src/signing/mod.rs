//! What is signed, byte for byte, for workers and scheduler alike: one place, so that both sides
//! mean the same. `docs/handoff.md` describes it for other implementations.
//!
//! Every statement begins with a tag that names its kind, so that a signature over one is never a
//! signature over another, and names the scheduler, so that none means anything elsewhere.

mod canonical;
pub mod checkpoint;
pub mod envelope;
pub mod handoff;
pub mod key_file;
pub mod session;

use std::fmt;

use bellwether_core::model::WorkerKey;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

pub const SIGNATURE_BYTES: usize = 64;

/// An Ed25519 key that can sign.
#[derive(Clone)]
pub struct Secret(SigningKey);

/// Nobody can be sure who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not fit what is signed, or was made with another key")]
pub struct BadSignature;

impl Secret {
    /// Whoever knows the seed is the holder of the key.
    pub fn from_seed(seed: &[u8; 32]) -> Secret {
        Secret(SigningKey::from_bytes(seed))
    }

    pub fn seed(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    pub fn public(&self) -> WorkerKey {
        WorkerKey(self.0.verifying_key().to_bytes())
    }

    pub fn sign(&self, statement: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(statement).to_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret of {}", self.public())
    }
}

/// Strictly: of one statement and key there is one signature, and weak keys are none.
pub fn verify(key: WorkerKey, statement: &[u8], signature: &[u8]) -> Result<(), BadSignature> {
    let key = VerifyingKey::from_bytes(&key.0).map_err(|_| BadSignature)?;
    let signature = Signature::from_slice(signature).map_err(|_| BadSignature)?;
    key.verify_strict(statement, &signature).map_err(|_| BadSignature)
}

/// SHA-256, because every language has it.
pub fn payload_hash(payload: &[u8]) -> [u8; 32] {
    Sha256::digest(payload).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_statement_and_key_alone() {
        let (ours, theirs) = (Secret::from_seed(&[1; 32]), Secret::from_seed(&[2; 32]));
        let signature = ours.sign(b"statement");
        assert_eq!(verify(ours.public(), b"statement", &signature), Ok(()));
        assert_eq!(verify(theirs.public(), b"statement", &signature), Err(BadSignature));
        assert_eq!(verify(ours.public(), b"statements", &signature), Err(BadSignature));
        assert_eq!(verify(ours.public(), b"statement", &signature[1..]), Err(BadSignature));
        // A key of small order fits nearly everything.
        assert_eq!(verify(WorkerKey([0; 32]), b"statement", &signature), Err(BadSignature));
    }
}
