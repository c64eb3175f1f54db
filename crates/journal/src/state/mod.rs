//! The facts of the state as bytes, and back: what a snapshot holds. Equal states give equal bytes.
//!
//! The schema is `proto/bellwether/v1/snapshot.proto`. Formats 1 and 2, of before there was one,
//! are still read.

mod encode;
mod positional;

use std::convert::Infallible;

use bellwether_core::{Engine, Moment, State};
use bellwether_wire::snapshot::Restoring;
use bellwether_wire::{Malformed, v1};
use prost::Message as _;
use prost::encoding::decode_varint;

pub use self::encode::{Encoder, LastPieces};
use crate::snapshot::SnapshotError;

/// The format that is written. Fields that are added need no other; what an older reader must not
/// pass over does.
pub const FORMAT: u32 = 3;

/// More than most jobs take without their payloads. Room that stays empty costs nothing, while a list
/// that grows is copied.
const JOB_BYTES: usize = 256;

pub fn encode(state: &State) -> Vec<u8> {
    let payload_bytes = usize::try_from(state.totals.payload_bytes).unwrap_or_default();
    let mut bytes = Vec::with_capacity(state.jobs.len() * JOB_BYTES + payload_bytes);
    let Ok(()) = write(state, |piece| {
        bytes.extend_from_slice(piece);
        Ok::<(), Infallible>(())
    });
    bytes
}

/// Equal for equal states, and for no others.
pub fn hash(state: &State) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let Ok(()) = write(state, |piece| {
        hasher.update(piece);
        Ok::<(), Infallible>(())
    });
    hasher.finalize().into()
}

/// Gives piece after piece of the snapshot, with their lengths before them, of the state as it is.
pub fn write<E>(state: &State, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut encoder = Encoder::new(state, Moment::Present);
    while !encoder.has_all() {
        if let Some(piece) = encoder.go_on(state, usize::MAX) {
            each(&piece)?;
        }
    }
    encoder.last_pieces().write(each)
}

/// Volatile things start afresh: every worker has its full time to be heard of.
pub fn decode(bytes: &[u8]) -> Result<Engine, SnapshotError> {
    // These formats begin with their number. A piece with a header is longer than that.
    if let Some(format @ (1 | 2)) = bytes.first() {
        let (header, facts) = positional::read(&bytes[1..], *format == 2).map_err(unreadable)?;
        let mut restoring = Restoring::new(header).map_err(malformed)?;
        restoring.take(facts).map_err(malformed)?;
        return restoring.finish().map_err(malformed);
    }
    let mut pieces = Pieces { rest: bytes };
    let mut piece = pieces.next()?;
    let header =
        piece.header.take().ok_or_else(|| unreadable("it does not begin with a header"))?;
    if header.format != FORMAT {
        return Err(SnapshotError::Format { found: header.format });
    }
    let mut restoring = Restoring::new(header).map_err(malformed)?;
    let mut count = 1;
    while piece.pieces == 0 {
        restoring.take(piece).map_err(malformed)?;
        piece = pieces.next()?;
        count += 1;
    }
    if piece.pieces != count || !pieces.rest.is_empty() {
        return Err(unreadable("it has more or fewer pieces than it says"));
    }
    restoring.take(piece).map_err(malformed)?;
    restoring.finish().map_err(malformed)
}

struct Pieces<'a> {
    rest: &'a [u8],
}

impl Pieces<'_> {
    /// Payloads are copied: a job that waits for long must not keep the whole snapshot in memory.
    fn next(&mut self) -> Result<v1::SnapshotPiece, SnapshotError> {
        let length = decode_varint(&mut self.rest).map_err(|_| unreadable("it ends early"))?;
        let piece =
            usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (piece, rest) = piece.ok_or_else(|| unreadable("it ends early"))?;
        self.rest = rest;
        v1::SnapshotPiece::decode(piece).map_err(|error| unreadable(&error.to_string()))
    }
}

fn unreadable(why: &str) -> SnapshotError {
    SnapshotError::Unreadable { why: why.to_owned() }
}

fn malformed(error: Malformed) -> SnapshotError {
    SnapshotError::Unreadable { why: error.to_string() }
}
