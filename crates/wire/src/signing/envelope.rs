//! What a worker says over a queue, where no session stands for who it is.

use bellwether_core::model::WorkerKey;

use super::canonical::Canonical;
use super::{BadSignature, Secret, payload_hash, verify};

const MESSAGE: &str = "bellwether/message/v1";

/// One message of a worker. Its kind, job and token stand in the body, which is signed as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub scheduler: &'a str,
    /// The nonce that the scheduler challenged the worker with.
    pub session: &'a [u8],
    /// From 1, and higher with every message of the session.
    pub counter: u64,
    pub body: &'a [u8],
}

impl Message<'_> {
    fn statement(&self) -> Vec<u8> {
        Canonical::new(MESSAGE)
            .text(self.scheduler)
            .bytes(self.session)
            .number(self.counter)
            .bytes(&payload_hash(self.body))
            .finish()
    }

    pub fn sign(&self, secret: &Secret) -> [u8; 64] {
        secret.sign(&self.statement())
    }

    pub fn verify(&self, key: WorkerKey, signature: &[u8]) -> Result<(), BadSignature> {
        verify(key, &self.statement(), signature)
    }
}
