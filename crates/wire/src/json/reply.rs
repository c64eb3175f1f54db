//! What lies on the replies of a queue: what a worker says, in an envelope that it has signed or as it
//! is, or a handoff, which is signed in itself.
//!
//! The envelope is an object with `signed`, the message as a text, so that every language signs and
//! verifies the same bytes. `docs/handoff.md` has the statement and cases to compare with.

use bellwether_core::model::WorkerKey;
use serde_json::value::RawValue;

use super::field::{Fields, take, text};
use super::handoff::{self, HandoffForm, bytes_from_hex};
use super::hex;
use super::worker_message::{Said, SaidError, worker_message_from_json};
use crate::malformed::{Malformed, hash};
use crate::signing::envelope::Letter;
use crate::signing::{BadSignature, SIGNATURE_BYTES, Secret, payload_hash};
use crate::v1;

const ENVELOPE: [&str; 5] = ["signed", "key", "session", "number", "signature"];
const HANDOFF: [&str; 5] = ["type", "job_id", "receiver", "payload_hash", "signature"];
const NUMBER: &str = "it must be a whole number, and higher with every message";

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is made for a message and taken apart at once")]
pub enum Reply {
    Said(Said, Option<Seal>),
    /// Whoever holds the attempt has signed it; who brings it does not matter.
    HandOff(v1::HandOff),
}

/// Who says that they have said it. Nothing of it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    pub key: WorkerKey,
    /// The nonce that the worker was challenged with.
    pub session: [u8; 32],
    pub number: u64,
    body_hash: [u8; 32],
    signature: [u8; SIGNATURE_BYTES],
}

impl Seal {
    /// Whether its key has signed this message for this scheduler.
    pub fn verify(&self, said: &Said, scheduler: &str) -> Result<(), BadSignature> {
        letter(said, scheduler, &self.session, self.number, self.body_hash)
            .verify(self.key, &self.signature)
    }
}

pub fn reply_from_json(body: &[u8]) -> Result<Reply, SaidError> {
    let raw: &RawValue = serde_json::from_slice(body).map_err(SaidError::Json)?;
    let fields = Fields::of(raw)?;
    if fields.get("signed").is_some() {
        let (said, seal) = open(fields)?;
        return Ok(Reply::Said(said, Some(seal)));
    }
    let kind: Option<&str> = fields.get("type").and_then(|it| serde_json::from_str(it.get()).ok());
    if kind == Some(handoff::TYPE) {
        return Ok(Reply::HandOff(hand_off(fields)?));
    }
    Ok(Reply::Said(worker_message_from_json(body)?, None))
}

fn hand_off(fields: Fields<'_>) -> Result<v1::HandOff, Malformed> {
    let mut fields = fields.only(&HANDOFF)?;
    let mut taken = |name| text(&mut fields, name);
    handoff::to_wire(HandoffForm {
        r#type: taken("type")?,
        job_id: taken("job_id")?,
        receiver: taken("receiver")?,
        payload_hash: taken("payload_hash")?,
        signature: taken("signature")?,
    })
}

fn open(fields: Fields<'_>) -> Result<(Said, Seal), SaidError> {
    let mut fields = fields.only(&ENVELOPE)?;
    let body = text(&mut fields, "signed")?;
    let signature = digits(&mut fields, "signature")?;
    let length = format!("{} bytes long", signature.len());
    let signature = signature
        .try_into()
        .map_err(|_| Malformed::not_allowed("signature", length, "it must be 64 bytes"))?;
    let seal = Seal {
        key: WorkerKey(hash("key", &digits(&mut fields, "key")?)?),
        session: hash("session", &digits(&mut fields, "session")?)?,
        number: take(&mut fields, "number", NUMBER)?.ok_or_else(|| Malformed::missing("number"))?,
        body_hash: payload_hash(body.as_bytes()),
        signature,
    };
    Ok((worker_message_from_json(body.as_bytes())?, seal))
}

fn digits(fields: &mut Fields<'_>, name: &str) -> Result<Vec<u8>, Malformed> {
    let digits = text(fields, name)?;
    bytes_from_hex(&digits)
        .ok_or_else(|| Malformed::not_allowed(name, digits, "it must be hexadecimal digits"))
}

/// The place of a message in the session of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub scheduler: &'a str,
    pub session: &'a [u8; 32],
    pub number: u64,
}

/// A message in its envelope.
pub fn seal(body: &str, place: Place<'_>, secret: &Secret) -> Result<Vec<u8>, SaidError> {
    let said = worker_message_from_json(body.as_bytes())?;
    let Place { scheduler, session, number } = place;
    let body_hash = payload_hash(body.as_bytes());
    let signature = letter(&said, scheduler, session, number, body_hash).sign(secret);
    let envelope = serde_json::json!({
        "signed": body,
        "key": secret.public().to_string(),
        "session": hex(session),
        "number": number,
        "signature": hex(&signature),
    });
    Ok(envelope.to_string().into_bytes())
}

fn letter<'a>(
    said: &'a Said,
    scheduler: &'a str,
    session: &'a [u8; 32],
    number: u64,
    body_hash: [u8; 32],
) -> Letter<'a> {
    let v1::Attempt { job, token } = said.attempt();
    let (worker, kind) = (said.worker.as_str(), said.kind);
    Letter { scheduler, worker, session, number, kind, job, token, body_hash }
}

#[cfg(test)]
mod tests;
