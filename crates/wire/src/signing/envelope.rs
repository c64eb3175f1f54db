//! What a worker says over a queue, where no session stands for who it is.

use bellwether_core::model::WorkerKey;

use super::canonical::Canonical;
use super::{BadSignature, Secret, verify};

const REPORT: &str = "bellwether/report/v1";

/// One message of a worker, and what it is bound to: nobody can move it to another scheduler, session,
/// place in the order, attempt or kind.
#[derive(Debug, Clone, Copy)]
pub struct Letter<'a> {
    pub scheduler: &'a str,
    pub worker: &'a str,
    /// The nonce that the scheduler challenged the worker with.
    pub session: &'a [u8],
    /// From 1, and higher with every message of the session.
    pub number: u64,
    pub kind: &'a str,
    /// Both 0 if it is about no attempt.
    pub job: u64,
    pub token: u64,
    /// SHA-256 of the message, byte for byte.
    pub body_hash: [u8; 32],
}

impl Letter<'_> {
    /// The bytes that are signed.
    pub fn statement(&self) -> Vec<u8> {
        Canonical::new(REPORT)
            .text(self.scheduler)
            .text(self.worker)
            .bytes(self.session)
            .number(self.number)
            .text(self.kind)
            .number(self.job)
            .number(self.token)
            .bytes(&self.body_hash)
            .finish()
    }

    pub fn sign(&self, secret: &Secret) -> [u8; 64] {
        secret.sign(&self.statement())
    }

    pub fn verify(&self, key: WorkerKey, signature: &[u8]) -> Result<(), BadSignature> {
        verify(key, &self.statement(), signature)
    }
}
