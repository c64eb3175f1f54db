//! The hash chain: each record's hash covers its bytes and the hash before it.

use std::fmt;

use bellwether_core::model::Seq;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Chain(pub [u8; 32]);

impl Chain {
    /// Before the first record.
    pub const GENESIS: Chain = Chain([0; 32]);
    pub const BYTES: usize = 32;

    /// The hash after a record with these bytes.
    #[must_use]
    pub fn after(self, record: &[u8]) -> Chain {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        hasher.update(record);
        Chain(hasher.finalize().into())
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&blake3::Hash::from_bytes(self.0), f)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A place in the journal: after the entry `seq`, with the chain there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub seq: Seq,
    pub chain: Chain,
}

impl Head {
    /// Of an empty journal.
    pub const GENESIS: Head = Head { seq: Seq(0), chain: Chain::GENESIS };
}
