//! Bytes to entries, verified.

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bellwether_wire::event::{RECORD_VERSION, entries_from_wire};
use bellwether_wire::v1;
use bytes::Bytes;
use prost::Message as _;

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
    let at = prior.seq.next();
    if prior.chain.after(&bytes) != stored {
        return Err(Damage { at, flaw: Flaw::Chain });
    }
    decode(prior, stored, bytes)
}

fn decode(prior: Head, chain: Chain, bytes: Bytes) -> Result<Record, Damage> {
    let at = prior.seq.next();
    let unreadable = |why: String| Damage { at, flaw: Flaw::Unreadable { why } };
    let wire = v1::Record::decode(bytes).map_err(|error| unreadable(error.to_string()))?;
    if wire.version != RECORD_VERSION {
        return Err(Damage { at, flaw: Flaw::Version { found: wire.version } });
    }
    if wire.first_seq != at.0 {
        return Err(Damage { at, flaw: Flaw::Gap { found: Seq(wire.first_seq) } });
    }
    let epoch = Epoch(wire.epoch);
    let entries = entries_from_wire(wire).map_err(|error| unreadable(error.to_string()))?;
    if entries.is_empty() {
        return Err(unreadable("it has no entries".to_owned()));
    }
    Ok(Record { epoch, prior: prior.chain, chain, entries })
}
