//! Protobuf primitives over a buffer that is reused. What they write is byte for byte what the
//! generated code writes: fields in order, defaults left out, lengths as short as possible.

use bellwether_core::model::Name;

const VARINT: u32 = 0;
const LENGTH_DELIMITED: u32 = 2;

pub(crate) trait Writer {
    fn varint(&mut self, value: u64);
    fn uint(&mut self, tag: u32, value: u64);
    fn sint(&mut self, tag: u32, value: i64);
    fn boolean(&mut self, tag: u32, value: bool);
    fn bytes(&mut self, tag: u32, value: &[u8]);
    fn name(&mut self, tag: u32, value: Option<&Name>);
    fn names(&mut self, tag: u32, values: &[Name]);
    /// Written even if it is empty, as a message that is present is.
    fn message(&mut self, tag: u32, body: impl FnOnce(&mut Self));
}

impl Writer for Vec<u8> {
    #[inline]
    fn varint(&mut self, mut value: u64) {
        if value < 0x80 {
            self.push(value as u8);
            return;
        }
        let mut bytes = [0; 10];
        let mut len = 0;
        while value >= 0x80 {
            bytes[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        bytes[len] = value as u8;
        self.extend_from_slice(&bytes[..=len]);
    }

    #[inline]
    fn uint(&mut self, tag: u32, value: u64) {
        if value != 0 {
            key(self, tag, VARINT);
            self.varint(value);
        }
    }

    #[inline]
    fn sint(&mut self, tag: u32, value: i64) {
        self.uint(tag, ((value << 1) ^ (value >> 63)) as u64);
    }

    #[inline]
    fn boolean(&mut self, tag: u32, value: bool) {
        self.uint(tag, u64::from(value));
    }

    #[inline]
    fn bytes(&mut self, tag: u32, value: &[u8]) {
        if !value.is_empty() {
            present(self, tag, value);
        }
    }

    #[inline]
    fn name(&mut self, tag: u32, value: Option<&Name>) {
        if let Some(name) = value {
            present(self, tag, name.as_str().as_bytes());
        }
    }

    fn names(&mut self, tag: u32, values: &[Name]) {
        for name in values {
            present(self, tag, name.as_str().as_bytes());
        }
    }

    #[inline]
    fn message(&mut self, tag: u32, body: impl FnOnce(&mut Self)) {
        key(self, tag, LENGTH_DELIMITED);
        let start = self.len() + 1;
        self.push(0);
        body(self);
        let len = self.len() - start;
        if len < 0x80 {
            self[start - 1] = len as u8;
        } else {
            widen(self, start, len);
        }
    }
}

#[inline]
fn key(buffer: &mut Vec<u8>, tag: u32, wire_type: u32) {
    buffer.varint(u64::from(tag << 3 | wire_type));
}

#[inline]
fn present(buffer: &mut Vec<u8>, tag: u32, value: &[u8]) {
    key(buffer, tag, LENGTH_DELIMITED);
    buffer.varint(value.len() as u64);
    buffer.extend_from_slice(value);
}

/// Moves a body of 128 bytes or more up to make room for the rest of its length. Most messages are
/// shorter, so this beats computing every length beforehand.
#[cold]
fn widen(buffer: &mut Vec<u8>, start: usize, len: usize) {
    let end = buffer.len();
    buffer.varint(len as u64);
    let width = buffer.len() - end;
    let mut length = [0; 10];
    length[..width].copy_from_slice(&buffer[end..]);
    // The bytes of the length just written are room enough, but for the one already there.
    buffer.truncate(end + width - 1);
    buffer.copy_within(start..end, start + width - 1);
    buffer[start - 1..start - 1 + width].copy_from_slice(&length[..width]);
}
