//! Handoffs, as the schema has them.

use bellwether_core::model::{Epoch, Handoff, HandoffSignature, JobNo, Receiver, Timestamp, Token};
use bytes::Bytes;

use crate::key::{key_from_wire, key_to_wire};
use crate::malformed::{Malformed, hash, name};
use crate::v1;

pub fn handoff_to_wire(handoff: &Handoff) -> v1::Handoff {
    v1::Handoff {
        from: handoff.from.to_string(),
        job_id: handoff.job.to_string(),
        receiver: handoff.receiver.to_string(),
        payload_hash: Bytes::copy_from_slice(&handoff.payload_hash),
        key: key_to_wire(handoff.key),
        token: handoff.token.0,
        epoch: handoff.epoch.0,
        expires: handoff.expires.0,
        previous: Bytes::copy_from_slice(&handoff.previous.0),
        signature: Bytes::copy_from_slice(&handoff.signature.0),
    }
}

pub fn handoff_from_wire(wire: &v1::Handoff) -> Result<Handoff, Malformed> {
    Ok(Handoff {
        from: name("from", &wire.from)?,
        job: name("job_id", &wire.job_id)?,
        receiver: receiver_from_wire(&wire.receiver)?,
        payload_hash: hash("payload_hash", &wire.payload_hash)?,
        key: key_from_wire("key", &wire.key)?,
        token: Token(wire.token),
        epoch: Epoch(wire.epoch),
        expires: Timestamp(wire.expires),
        previous: signature_from_wire("previous", &wire.previous)?,
        signature: signature_from_wire("signature", &wire.signature)?,
    })
}

/// The chain of one job.
pub fn handoffs_to_wire(job: JobNo, chain: &[Handoff]) -> v1::HandoffFacts {
    v1::HandoffFacts { job: job.0, handoffs: chain.iter().map(handoff_to_wire).collect() }
}

pub fn receiver_from_wire(text: &str) -> Result<Receiver, Malformed> {
    if text.is_empty() {
        return Err(Malformed::missing("receiver"));
    }
    Receiver::parse(text).map_err(|error| Malformed::new("receiver", error))
}

pub fn signature_from_wire(field: &str, bytes: &[u8]) -> Result<HandoffSignature, Malformed> {
    bytes.try_into().map(HandoffSignature).map_err(|_| {
        Malformed::not_allowed(field, format!("{} bytes long", bytes.len()), "it must be 64 bytes")
    })
}
