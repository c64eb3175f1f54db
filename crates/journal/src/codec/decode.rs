//! Bytes to entries, verified.

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bellwether_wire::event::{RECORD_VERSION, entries_from_wire};
use bellwether_wire::v1;
use bytes::Bytes;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message as _};

use crate::chain::{Chain, Head};
use crate::journal::{Damage, Flaw};

/// A verified record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub epoch: Epoch,
    /// The chain before and after it.
    pub prior: Chain,
    pub chain: Chain,
    /// Not empty, without gaps.
    pub entries: Vec<Entry>,
}

impl Record {
    /// The record of these bytes, which follows `prior` and must hash to `chain`.
    pub fn verified(prior: Head, chain: Chain, bytes: Bytes) -> Result<Record, Damage> {
        record(prior, chain, bytes)
    }

    /// The same check, without reading its events: gives the head after it.
    pub fn check(prior: Head, chain: Chain, bytes: &[u8]) -> Result<Head, Damage> {
        verify(prior, chain, bytes)
    }

    pub fn first(&self) -> Seq {
        self.entries.first().expect("a record has entries").seq
    }

    pub fn head(&self) -> Head {
        let last = self.entries.last().expect("a record has entries");
        Head { seq: last.seq, chain: self.chain }
    }
}

/// Reads the record that follows `prior` and must hash to `stored`.
pub(crate) fn record(prior: Head, stored: Chain, bytes: Bytes) -> Result<Record, Damage> {
    verify(prior, stored, &bytes)?;
    verified_record(prior, stored, &bytes)
}

/// Reads a record that was verified before. Payloads are copied: a job that waits for long must not
/// keep the whole record in memory that it came with.
pub(crate) fn verified_record(prior: Head, stored: Chain, bytes: &[u8]) -> Result<Record, Damage> {
    let at = prior.seq.next();
    let unreadable = |why: String| Damage { at, flaw: Flaw::Unreadable { why } };
    let wire = v1::Record::decode(bytes).map_err(|error| unreadable(error.to_string()))?;
    let epoch = Epoch(wire.epoch);
    let entries = entries_from_wire(wire).map_err(|error| unreadable(error.to_string()))?;
    Ok(Record { epoch, prior: prior.chain, chain: stored, entries })
}

/// The head after a record, all of it verified but its events not read: that costs a tenth.
pub(crate) fn verify(prior: Head, stored: Chain, bytes: &[u8]) -> Result<Head, Damage> {
    let at = prior.seq.next();
    if prior.chain.after(bytes) != stored {
        return Err(Damage { at, flaw: Flaw::Chain });
    }
    let unreadable = |why: String| Damage { at, flaw: Flaw::Unreadable { why } };
    let outline = Outline::read(bytes).map_err(|error| unreadable(error.to_string()))?;
    if outline.version != u64::from(RECORD_VERSION) {
        return Err(Damage { at, flaw: Flaw::Version { found: outline.version } });
    }
    if outline.first_seq != at.0 {
        return Err(Damage { at, flaw: Flaw::Gap { found: Seq(outline.first_seq) } });
    }
    if outline.entries == 0 {
        return Err(unreadable("it has no entries".to_owned()));
    }
    Ok(Head { seq: Seq(prior.seq.0 + outline.entries), chain: stored })
}

#[derive(Debug, Default)]
struct Outline {
    version: u64,
    first_seq: u64,
    entries: u64,
}

impl Outline {
    /// Walks over the fields of the record without going into its entries.
    fn read(mut bytes: &[u8]) -> Result<Outline, DecodeError> {
        let mut outline = Outline::default();
        while !bytes.is_empty() {
            let (tag, wire_type) = decode_key(&mut bytes)?;
            match (tag, wire_type) {
                (1, WireType::Varint) => outline.version = decode_varint(&mut bytes)?,
                (2, WireType::Varint) => outline.first_seq = decode_varint(&mut bytes)?,
                _ => {
                    outline.entries += u64::from(tag == 5);
                    skip_field(wire_type, tag, &mut bytes, DecodeContext::default())?;
                }
            }
        }
        Ok(outline)
    }
}
