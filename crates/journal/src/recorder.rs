//! Turns entries into records.

use bellwether_core::Entry;
use bellwether_core::model::Epoch;

use crate::chain::{Chain, Head};
use crate::codec::encode;

/// Writes record after record into one buffer and keeps the chain.
#[derive(Debug)]
pub struct Recorder {
    head: Head,
    /// The chain before the record, then its bytes: exactly what its hash is made of.
    buffer: Vec<u8>,
}

/// A record that is not part of the journal yet.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    pub bytes: &'a [u8],
    /// The head once it is.
    pub head: Head,
}

impl Recorder {
    /// Buffers that a rare large record has grown beyond this are given back.
    const BUFFER_BYTES_KEPT: usize = 16 << 20;

    pub fn new(head: Head) -> Recorder {
        Recorder { head, buffer: Vec::new() }
    }

    /// Where the next record goes.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The record of these entries. Call [`Recorder::accept`] with its head once it is durable.
    ///
    /// # Panics
    /// If there are no entries, or their positions have a gap.
    pub fn draft(&mut self, epoch: Epoch, entries: &[Entry]) -> Draft<'_> {
        self.buffer.clear();
        self.buffer.shrink_to(Self::BUFFER_BYTES_KEPT);
        self.buffer.extend_from_slice(&self.head.chain.0);
        encode::record(&mut self.buffer, epoch, entries);
        let chain = Chain(blake3::hash(&self.buffer).into());
        let last = entries.last().expect("a record has entries");
        Draft { bytes: &self.buffer[Chain::BYTES..], head: Head { seq: last.seq, chain } }
    }

    /// The draft with this head has become part of the journal.
    pub fn accept(&mut self, head: Head) {
        self.head = head;
    }

    /// Drafts and accepts at once, for those who have nothing to wait for. Gives the new head.
    pub fn record(&mut self, epoch: Epoch, entries: &[Entry]) -> Head {
        let head = self.draft(epoch, entries).head;
        self.accept(head);
        head
    }
}
