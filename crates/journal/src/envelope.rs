//! An event with all that is needed to read and check it alone.

use bellwether_core::model::{Seq, Timestamp};
use bellwether_core::{Entry, Event};

use crate::chain::Chain;
use crate::codec::decode::Record;
use crate::codec::encode;

/// Enough for most payloads.
const BUFFER_BYTES: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The event's id and its logical time are both its position.
    pub event_id: Seq,
    pub parent: Option<Seq>,
    pub at: Timestamp,
    pub kind: &'static str,
    pub payload: &'a Event,
    /// Blake3 of the payload's bytes as the journal has them.
    pub payload_hash: [u8; 32],
    /// The chain before and after the record that it became durable with; the events of one record
    /// share them.
    pub prior_hash: Chain,
    pub post_hash: Chain,
    pub error: Option<&'a str>,
}

/// The envelope of one of a record's entries.
pub fn envelope<'a>(record: &'a Record, entry: &'a Entry) -> Envelope<'a> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    encode::payload(&mut buffer, &entry.event);
    Envelope {
        event_id: entry.seq,
        parent: entry.parent,
        at: entry.at,
        kind: entry.event.name(),
        payload: &entry.event,
        payload_hash: blake3::hash(&buffer).into(),
        prior_hash: record.prior,
        post_hash: record.chain,
        error: error(entry),
    }
}

fn error(entry: &Entry) -> Option<&str> {
    match &entry.event {
        Event::AttemptFailed { error, .. } | Event::PredictorFailed { error, .. } => Some(error),
        Event::Cancelled { reason, .. } => Some(reason),
        _ => None,
    }
}
