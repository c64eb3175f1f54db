//! How a worker proves on a session that it holds its key, and how it changes that key.

use bellwether_core::model::WorkerKey;

use super::canonical::Canonical;
use super::{BadSignature, Secret, payload_hash, verify};

const PROOF: &str = "bellwether/session/v1";
const CERTIFICATE: &str = "bellwether/certificate/v1";
const ROTATION: &str = "bellwether/rotation/v1";

/// Who opens a session, and what the scheduler challenged it with. The nonce is random and of one
/// session alone, so a proof means nothing on any other connection.
#[derive(Debug, Clone, Copy)]
pub struct Proof<'a> {
    pub scheduler: &'a str,
    pub nonce: &'a [u8],
    pub worker: &'a str,
    pub instance: u64,
    pub key: WorkerKey,
}

impl Proof<'_> {
    fn statement(&self) -> Vec<u8> {
        Canonical::new(PROOF)
            .text(self.scheduler)
            .bytes(self.nonce)
            .text(self.worker)
            .number(self.instance)
            .bytes(&self.key.0)
            .finish()
    }

    /// The key that it names is the public half of the one that signs.
    pub fn sign(&self, secret: &Secret) -> [u8; 64] {
        secret.sign(&self.statement())
    }

    pub fn verify(&self, signature: &[u8]) -> Result<(), BadSignature> {
        verify(self.key, &self.statement(), signature)
    }
}

/// What is bound to a worker that shows certificates in its name, instead of a key of its own: so a
/// certificate that was renewed is as good, and no key is.
pub fn certificate_key(worker: &str) -> WorkerKey {
    WorkerKey(payload_hash(&Canonical::new(CERTIFICATE).text(worker).finish()))
}

/// The holder of one key wants another of its own to take over.
#[derive(Debug, Clone, Copy)]
pub struct Rotation<'a> {
    pub scheduler: &'a str,
    pub worker: &'a str,
    pub from: WorkerKey,
    pub to: WorkerKey,
    /// Microseconds since the Unix epoch.
    pub issued_at: u64,
}

impl Rotation<'_> {
    fn statement(&self) -> Vec<u8> {
        Canonical::new(ROTATION)
            .text(self.scheduler)
            .text(self.worker)
            .bytes(&self.from.0)
            .bytes(&self.to.0)
            .number(self.issued_at)
            .finish()
    }

    pub fn sign(&self, secret: &Secret) -> [u8; 64] {
        secret.sign(&self.statement())
    }

    /// Both keys have signed it.
    pub fn verify(&self, by_old: &[u8], by_new: &[u8]) -> Result<(), BadSignature> {
        let statement = self.statement();
        verify(self.from, &statement, by_old)?;
        verify(self.to, &statement, by_new)
    }
}
