//! Protobuf primitives over a buffer that is reused. What they write is byte for byte what the
//! generated code writes: fields in order, defaults left out, lengths as short as possible.

const VARINT: u32 = 0;
const LENGTH_DELIMITED: u32 = 2;
const VARINT_BYTES_MAX: usize = 10;

pub(crate) trait Writer {
    fn varint(&mut self, value: u64);
    fn uint(&mut self, tag: u32, value: u64);
    /// Written even if it is zero, as one of several and an optional are.
    fn present_uint(&mut self, tag: u32, value: u64);
    fn optional_uint(&mut self, tag: u32, value: Option<u64>);
    fn sint(&mut self, tag: u32, value: i64);
    fn boolean(&mut self, tag: u32, value: bool);
    fn bytes(&mut self, tag: u32, value: &[u8]);
    fn name(&mut self, tag: u32, value: Option<&impl AsRef<str>>);
    fn names(&mut self, tag: u32, values: &[impl AsRef<str>]);
    /// Written even if it is empty, as a message that is present is. `about` is how long it will
    /// be, as far as that is known.
    fn message(&mut self, tag: u32, about: usize, body: impl FnOnce(&mut Self));
}

impl Writer for Vec<u8> {
    #[inline]
    fn varint(&mut self, mut value: u64) {
        if value < 0x80 {
            self.push(value as u8);
            return;
        }
        let mut bytes = [0; VARINT_BYTES_MAX];
        let mut len = 0;
        while value >= 0x80 {
            bytes[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        bytes[len] = value as u8;
        // A copy of fixed size and a cut are cheaper than a copy of just the right size.
        let start = self.len();
        self.extend_from_slice(&bytes);
        self.truncate(start + len + 1);
    }

    #[inline]
    fn uint(&mut self, tag: u32, value: u64) {
        if value != 0 {
            self.present_uint(tag, value);
        }
    }

    #[inline]
    fn present_uint(&mut self, tag: u32, value: u64) {
        key(self, tag, VARINT);
        self.varint(value);
    }

    #[inline]
    fn optional_uint(&mut self, tag: u32, value: Option<u64>) {
        if let Some(value) = value {
            self.present_uint(tag, value);
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
    fn name(&mut self, tag: u32, value: Option<&impl AsRef<str>>) {
        if let Some(name) = value {
            present(self, tag, name.as_ref().as_bytes());
        }
    }

    fn names(&mut self, tag: u32, values: &[impl AsRef<str>]) {
        for name in values {
            present(self, tag, name.as_ref().as_bytes());
        }
    }

    #[inline]
    fn message(&mut self, tag: u32, about: usize, body: impl FnOnce(&mut Self)) {
        key(self, tag, LENGTH_DELIMITED);
        let start = self.len();
        let room = varint_bytes(about);
        self.extend_from_slice(&[0; VARINT_BYTES_MAX]);
        self.truncate(start + room);
        body(self);
        let len = self.len() - start - room;
        if varint_bytes(len) == room {
            write_length(&mut self[start..start + room], len);
        } else {
            resize_length(self, start, room);
        }
    }
}

#[inline]
fn varint_bytes(value: usize) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

/// Fills the bytes with a length that needs just as many.
#[inline]
fn write_length(bytes: &mut [u8], mut len: usize) {
    for byte in bytes.iter_mut() {
        *byte = len as u8 | 0x80;
        len >>= 7;
    }
    if let Some(last) = bytes.last_mut() {
        *last &= 0x7f;
    }
}

/// The length needs another room than was left for it: moves the body. Rare enough to be cheaper
/// than computing every length beforehand.
#[cold]
fn resize_length(buffer: &mut Vec<u8>, start: usize, room: usize) {
    let body = start + room..buffer.len();
    let len = body.len();
    let needed = varint_bytes(len);
    if needed > room {
        buffer.resize(start + needed + len, 0);
    }
    buffer.copy_within(body, start + needed);
    buffer.truncate(start + needed + len);
    write_length(&mut buffer[start..start + needed], len);
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
