//! Records as they lie in a journal, to be laid into another: byte for byte, so that the chain and
//! every hash stay what they are.

use bellwether_core::model::Epoch;
use bytes::Bytes;

use crate::chain::{Chain, Head};
use crate::codec::decode::{self, Record};
use crate::journal::{AppendError, Damage, Journal, ReadError, Reader};

/// A record with the bytes that it is made of.
#[derive(Debug, Clone)]
pub struct Copied {
    pub record: Record,
    pub bytes: Bytes,
}

impl Copied {
    /// The record that follows `prior`, verified.
    pub fn read(prior: Head, chain: Chain, bytes: Bytes) -> Result<Copied, Damage> {
        let record = decode::record(prior, chain, bytes.clone())?;
        Ok(Copied { record, bytes })
    }

    /// A record that was read, with its bytes; none if the journal does not have it any more.
    pub fn of(reader: &dyn Reader, record: Record) -> Result<Option<Copied>, ReadError> {
        let bytes = reader.bytes_at(record.first())?;
        Ok(bytes.map(|bytes| Copied { record, bytes }))
    }
}

/// A journal that takes over the records of another.
pub trait TakesCopies: Journal {
    /// Appends them with one sync. They follow the head of this journal without a gap, and its next
    /// reign comes after theirs.
    fn take_copies(&mut self, records: &[Copied]) -> Result<(), AppendError>;
}

pub(crate) fn latest_epoch(records: &[Copied]) -> Epoch {
    records.iter().map(|copied| copied.record.epoch).max().unwrap_or(Epoch(0))
}
