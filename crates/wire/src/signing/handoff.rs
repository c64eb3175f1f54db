//! Handoffs: the bytes that are signed, the text of a signature, and the chain of them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bellwether_core::model::{
    Epoch, Handoff, HandoffSignature, JobId, Receiver, Timestamp, Token, WorkerId, WorkerKey,
};

use super::canonical::Canonical;
use super::{BadSignature, Secret, payload_hash, verify};
use crate::handoff::receiver_from_wire;
use crate::malformed::{Malformed, hash, name};
use crate::v1;

const HANDOFF: &str = "bellwether/handoff/v1";
/// What the text of a signature begins with.
const SCHEME: &str = "KLP-sig:";
const VERSION: u8 = 1;
/// Version, key, token, epoch, expiry, the signature before it, the signature.
const TEXT_BYTES: usize = 1 + 32 + 8 + 8 + 8 + 64 + 64;
const SIGNATURE_WANTED: &str = "it must be KLP-sig: and what docs/handoff.md describes";

/// What a worker that gives an attempt away has to say.
#[derive(Debug, Clone)]
pub struct Intent<'a> {
    pub from: WorkerId,
    pub job: JobId,
    pub receiver: Receiver,
    pub payload: &'a [u8],
    pub token: Token,
    pub epoch: Epoch,
    /// On the wall clock.
    pub expires: Timestamp,
    pub previous: HandoffSignature,
}

/// Signs it for this scheduler.
pub fn sign(intent: Intent<'_>, scheduler: &str, secret: &Secret) -> Handoff {
    let Intent { from, job, receiver, payload, token, epoch, expires, previous } = intent;
    let mut handoff = Handoff {
        from,
        job,
        receiver,
        payload_hash: payload_hash(payload),
        key: secret.public(),
        token,
        epoch,
        expires,
        previous,
        signature: HandoffSignature::NONE,
    };
    handoff.signature = HandoffSignature(secret.sign(&statement(&handoff, scheduler)));
    handoff
}

/// Whether its key signed it for this scheduler.
pub fn verify_handoff(handoff: &Handoff, scheduler: &str) -> Result<(), BadSignature> {
    verify(handoff.key, &statement(handoff, scheduler), &handoff.signature.0)
}

/// The bytes that are signed.
pub fn statement(handoff: &Handoff, scheduler: &str) -> Vec<u8> {
    Canonical::new(HANDOFF)
        .text(scheduler)
        .text(handoff.job.as_str())
        .text(&handoff.receiver.to_string())
        .bytes(&handoff.payload_hash)
        .bytes(&handoff.key.0)
        .number(handoff.token.0)
        .number(handoff.epoch.0)
        .number(handoff.expires.0)
        .bytes(&handoff.previous.0)
        .finish()
}

/// The signature with what it is over beside the fields of the message.
pub fn signature_text(handoff: &Handoff) -> String {
    let mut bytes = Vec::with_capacity(TEXT_BYTES);
    bytes.push(VERSION);
    bytes.extend_from_slice(&handoff.key.0);
    bytes.extend_from_slice(&handoff.token.0.to_be_bytes());
    bytes.extend_from_slice(&handoff.epoch.0.to_be_bytes());
    bytes.extend_from_slice(&handoff.expires.0.to_be_bytes());
    bytes.extend_from_slice(&handoff.previous.0);
    bytes.extend_from_slice(&handoff.signature.0);
    format!("{SCHEME}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// A handoff as it arrives: who it is from stands in no field, but in who holds the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub job: JobId,
    pub receiver: Receiver,
    pub payload_hash: [u8; 32],
    pub key: WorkerKey,
    pub token: Token,
    pub epoch: Epoch,
    pub expires: Timestamp,
    previous: HandoffSignature,
    signature: HandoffSignature,
}

impl Arrived {
    pub fn read(wire: &v1::HandOff) -> Result<Arrived, Malformed> {
        let not_that = || {
            let length = format!("{} bytes long", wire.signature.len());
            Malformed::not_allowed("signature", length, SIGNATURE_WANTED)
        };
        let text = wire.signature.strip_prefix(SCHEME).ok_or_else(not_that)?;
        // Checked before it is decoded: the length of a signature is known.
        if text.len() != TEXT_BYTES.div_ceil(3) * 4 - (3 - TEXT_BYTES % 3) % 3 {
            return Err(not_that());
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| not_that())?;
        let (version, rest) = bytes.split_first().ok_or_else(not_that)?;
        if *version != VERSION || rest.len() != TEXT_BYTES - 1 {
            return Err(not_that());
        }
        let (key, rest) = rest.split_at(32);
        let (token, rest) = rest.split_at(8);
        let (epoch, rest) = rest.split_at(8);
        let (expires, rest) = rest.split_at(8);
        let (previous, signature) = rest.split_at(64);
        let number =
            |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("it was split at eight"));
        let signed = |bytes: &[u8]| HandoffSignature(bytes.try_into().expect("it was split at 64"));
        Ok(Arrived {
            job: name("job_id", &wire.job_id)?,
            receiver: receiver_from_wire(&wire.receiver)?,
            payload_hash: hash("payload_hash", &wire.payload_hash)?,
            key: WorkerKey(hash("signature", key)?),
            token: Token(number(token)),
            epoch: Epoch(number(epoch)),
            expires: Timestamp(number(expires)),
            previous: signed(previous),
            signature: signed(signature),
        })
    }

    /// It was signed for this scheduler, in this reign of it, by the key that it names.
    pub fn verified(
        self,
        from: WorkerId,
        scheduler: &str,
        epoch: Epoch,
    ) -> Result<Handoff, Malformed> {
        let refused = |wanted| Malformed::not_allowed("signature", "not accepted", wanted);
        if self.epoch != epoch {
            return Err(refused("it must be signed for the present epoch of the scheduler"));
        }
        let handoff = Handoff {
            from,
            job: self.job,
            receiver: self.receiver,
            payload_hash: self.payload_hash,
            key: self.key,
            token: self.token,
            epoch: self.epoch,
            expires: self.expires,
            previous: self.previous,
            signature: self.signature,
        };
        let verified = verify_handoff(&handoff, scheduler);
        verified.map_err(|BadSignature| {
            refused("it must be made for this scheduler, job, receiver and payload")
        })?;
        Ok(handoff)
    }
}

/// Why a chain of handoffs is not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenChain {
    #[error("handoff {0} of the chain is not signed by the key that it names")]
    Signature(usize),
    #[error("handoff {0} of the chain does not follow the one before it")]
    Order(usize),
    #[error("handoff {0} of the chain is for another job or payload")]
    Job(usize),
    #[error("handoff {0} of the chain is from a worker that it was not given to")]
    Holder(usize),
    #[error("the last handoff of the chain is for {0}, not for this worker")]
    Receiver(String),
}

/// Whoever is offered a job with a chain, to verify it before the job starts.
#[derive(Debug, Clone, Copy)]
pub struct ChainReader<'a> {
    pub scheduler: &'a str,
    pub job: &'a JobId,
    pub payload: &'a [u8],
    pub worker: &'a str,
    pub roles: &'a [String],
}

impl ChainReader<'_> {
    /// Every handoff is signed, follows the one before it, and the last one is for us. That a key
    /// is that of its worker is what the scheduler vouches for.
    pub fn verify(&self, chain: &[Handoff]) -> Result<(), BrokenChain> {
        let expected = payload_hash(self.payload);
        let mut previous = HandoffSignature::NONE;
        let mut given_to: Option<&Receiver> = None;
        for (handoff, number) in chain.iter().zip(1..) {
            if handoff.job != *self.job || handoff.payload_hash != expected {
                return Err(BrokenChain::Job(number));
            }
            if handoff.previous != previous {
                return Err(BrokenChain::Order(number));
            }
            if let Some(Receiver::Worker(id)) = given_to
                && *id != handoff.from
            {
                return Err(BrokenChain::Holder(number));
            }
            let signed = verify_handoff(handoff, self.scheduler);
            signed.map_err(|BadSignature| BrokenChain::Signature(number))?;
            previous = handoff.signature;
            given_to = Some(&handoff.receiver);
        }
        match given_to {
            None => Ok(()),
            Some(Receiver::Worker(id)) if id.as_str() == self.worker => Ok(()),
            Some(Receiver::Role(role)) if self.roles.iter().any(|own| own == role.as_str()) => {
                Ok(())
            }
            Some(other) => Err(BrokenChain::Receiver(other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
