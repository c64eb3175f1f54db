//! The one layout of what is signed: numbers are eight bytes, big end first; texts and byte strings
//! have their length before them, four bytes, big end first. So no two statements share their bytes.

/// Bytes to be signed, as they grow.
#[derive(Debug)]
pub(crate) struct Canonical(Vec<u8>);

impl Canonical {
    /// The tag names the kind of statement and its version.
    pub(crate) fn new(tag: &str) -> Canonical {
        Canonical(Vec::with_capacity(256)).text(tag)
    }

    pub(crate) fn text(self, text: &str) -> Canonical {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Canonical {
        let length = u32::try_from(bytes.len()).expect("what is signed is bounded");
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn number(mut self, number: u64) -> Canonical {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}
