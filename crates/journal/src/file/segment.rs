//! One file of the journal: a header, then frame after frame, then zeros up to the end of the file.
//!
//! ```text
//! header: magic 8 | position before the first frame 8 | chain there 32 | check 8
//! frame:  magic 4 | length of the record 4 | position before it 8 | check 8 | chain after it 32 | record
//! ```
//! All numbers are little-endian. A check is the start of the blake3 hash of what precedes it in
//! the header or frame.

use std::fs::File;

use bellwether_core::model::Seq;
use bytes::Bytes;

use super::window::Window;
use crate::chain::{Chain, Head};
use crate::codec::decode::{self, Record};
use crate::disk::cell::check;
use crate::journal::{Damage, Flaw, ReadError};

const HEADER_MAGIC: &[u8; 8] = b"BWJRNL01";
const FRAME_MAGIC: &[u8; 4] = b"BWr1";

pub(super) const HEADER_BYTES: usize = 8 + 8 + 32 + 8;
/// Magic, length, position and check.
const FRAME_START_BYTES: usize = 4 + 4 + 8 + 8;
const FRAME_HEADER_BYTES: usize = FRAME_START_BYTES + 32;

pub(super) fn header(base: Head) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(HEADER_MAGIC);
    header[8..16].copy_from_slice(&base.seq.0.to_le_bytes());
    header[16..48].copy_from_slice(&base.chain.0);
    let check = check(&header[..48]);
    header[48..].copy_from_slice(&check);
    header
}

/// Puts the frame of a record that follows `prior` into the buffer.
pub(super) fn frame(buffer: &mut Vec<u8>, prior: Seq, chain: Chain, record: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(&frame_start(prior, record.len()));
    buffer.extend_from_slice(&chain.0);
    buffer.extend_from_slice(record);
}

fn frame_start(prior: Seq, length: usize) -> [u8; FRAME_START_BYTES] {
    let length = u32::try_from(length).expect("a record is shorter than 4 GiB");
    let mut start = [0; FRAME_START_BYTES];
    start[..4].copy_from_slice(FRAME_MAGIC);
    start[4..8].copy_from_slice(&length.to_le_bytes());
    start[8..16].copy_from_slice(&prior.0.to_le_bytes());
    let check = check(&start[..16]);
    start[16..].copy_from_slice(&check);
    start
}

/// Reads a segment frame by frame.
#[derive(Debug)]
pub(super) struct Frames {
    window: Window,
    offset: u64,
    prior: Head,
}

/// A record that matches its hash.
#[derive(Debug)]
pub(super) struct Frame {
    prior: Head,
    pub(super) head: Head,
    record: Bytes,
}

impl Frame {
    pub(super) fn decode(self) -> Result<Record, Damage> {
        decode::verified_record(self.prior, self.head.chain, &self.record)
    }
}

/// What lies at a place in a segment.
#[derive(Debug)]
pub(super) enum Found {
    Frame(Frame),
    /// No frame starts here: there are zeros.
    End,
    /// Neither a sound frame nor the end.
    Broken(Damage),
}

impl Frames {
    /// `name` is the position before the segment's first entry, from the file's name.
    pub(super) fn open(file: File, name: Seq) -> Result<Frames, ReadError> {
        let mut window = Window::new(file);
        let damage = |why: &str| {
            let flaw = Flaw::Storage { why: format!("the header of its file {why}") };
            Damage { at: name.next(), flaw }
        };
        let given = window.bytes_at(0, HEADER_BYTES)?;
        if given.len() < HEADER_BYTES {
            return Err(damage("is cut off").into());
        }
        let chain = given[16..48].try_into().expect("a chain has 32 bytes");
        let base = Head { seq: name, chain: Chain(chain) };
        if given != header(base)[..] {
            return Err(damage("does not match its check").into());
        }
        Ok(Frames { window, offset: HEADER_BYTES as u64, prior: base })
    }

    /// Goes on at a place where a frame was found before.
    pub(super) fn seek(&mut self, offset: u64, prior: Head) {
        self.offset = offset;
        self.prior = prior;
    }

    /// The head before the next frame.
    pub(super) fn prior(&self) -> Head {
        self.prior
    }

    /// Where the next frame starts.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn next(&mut self) -> Result<Found, ReadError> {
        let start = self.window.bytes_at(self.offset, FRAME_HEADER_BYTES)?;
        if is_zero(&start) {
            return Ok(Found::End);
        }
        let broken = Damage { at: self.prior.seq.next(), flaw: Flaw::Chain };
        let length = match parse_frame_start(&start) {
            Some((prior, length)) if prior == self.prior.seq => length,
            Some(_) | None => return Ok(Found::Broken(broken)),
        };
        let frame = self.window.bytes_at(self.offset, FRAME_HEADER_BYTES + length)?;
        if frame.len() < FRAME_HEADER_BYTES + length {
            return Ok(Found::Broken(broken));
        }
        let chain = frame[FRAME_START_BYTES..FRAME_HEADER_BYTES].try_into();
        let chain = Chain(chain.expect("a chain has 32 bytes"));
        let record = frame.slice(FRAME_HEADER_BYTES..);
        match decode::verify(self.prior, chain, &record) {
            Ok(head) => {
                let prior = std::mem::replace(&mut self.prior, head);
                self.offset += frame.len() as u64;
                Ok(Found::Frame(Frame { prior, head, record }))
            }
            Err(damage) => Ok(Found::Broken(damage)),
        }
    }

    /// The record at this place, whether or not it matches its hash.
    pub(super) fn unverified(&mut self) -> Result<Option<Bytes>, ReadError> {
        let start = self.window.bytes_at(self.offset, FRAME_HEADER_BYTES)?;
        let Some((_, length)) = parse_frame_start(&start) else { return Ok(None) };
        let frame = self.window.bytes_at(self.offset, FRAME_HEADER_BYTES + length)?;
        Ok((frame.len() == FRAME_HEADER_BYTES + length).then(|| frame.slice(FRAME_HEADER_BYTES..)))
    }

    /// What is broken behind the last frame, if there is not nothing.
    pub(super) fn remains(&self) -> Result<Option<Damage>, ReadError> {
        let broken = Damage { at: self.prior.seq.next(), flaw: Flaw::Chain };
        Ok((!is_zero(&self.window.rest(self.offset)?)).then_some(broken))
    }

    /// Whether what is broken here can be a frame that was being written when the power failed.
    pub(super) fn may_be_torn(&self, damage: &Damage) -> Result<bool, ReadError> {
        // A record that matches its hash was written whole, whatever else is wrong with it.
        Ok(damage.flaw == Flaw::Chain && !self.any_frame_behind()?)
    }

    /// Whether a later frame starts anywhere behind a broken one. Frames are written one after the
    /// other, each only once the one before is durable: so the broken one was durable.
    fn any_frame_behind(&self) -> Result<bool, ReadError> {
        let rest = self.window.rest(self.offset + 1)?;
        Ok(rest.windows(FRAME_START_BYTES).any(|window| {
            window.starts_with(FRAME_MAGIC)
                && parse_frame_start(window).is_some_and(|(prior, _)| prior > self.prior.seq)
        }))
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// The position before the frame and the length of its record, if this is the start of a frame.
fn parse_frame_start(bytes: &[u8]) -> Option<(Seq, usize)> {
    let start = bytes.get(..FRAME_START_BYTES)?;
    let length = u32::from_le_bytes(start[4..8].try_into().expect("a length has 4 bytes")) as usize;
    let prior = u64::from_le_bytes(start[8..16].try_into().expect("a position has 8 bytes"));
    (start == frame_start(Seq(prior), length)).then_some((Seq(prior), length))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use prost::Message as _;

    use super::*;

    #[test]
    fn record_of_a_newer_program_is_never_taken_for_torn() {
        let newer = bellwether_wire::v1::Record { version: 2, first_seq: 1, ..Default::default() };
        let bytes = newer.encode_to_vec();
        let mut buffer = Vec::new();
        frame(&mut buffer, Seq(0), Chain::GENESIS.after(&bytes), &bytes);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&header(Head::GENESIS)).unwrap();
        file.write_all(&buffer).unwrap();
        let mut frames = Frames::open(file, Seq(0)).unwrap();
        let Found::Broken(damage) = frames.next().unwrap() else { panic!("it can't be read") };
        assert_eq!(damage.flaw, Flaw::Version { found: 2 });
        assert!(!frames.may_be_torn(&damage).unwrap());
    }
}
