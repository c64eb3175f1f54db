//! Where a job belongs in a trace of its submitter's. Carried for those who look on; nothing is
//! decided by it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// W3C's trace context, version 00: `00-<trace id>-<span id>-<flags>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TraceParent {
    pub trace_id: [u8; 16],
    /// The span that the job was submitted in.
    pub span_id: [u8; 8],
    pub flags: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a trace parent is 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, not all zero")]
pub struct NotATraceParent;

impl TraceParent {
    pub const BYTES: usize = 25;

    /// Somebody decided that this trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    pub fn parse(text: &str) -> Result<TraceParent, NotATraceParent> {
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or(NotATraceParent);
        let (version, trace, span, flags) = (part()?, part()?, part()?, part()?);
        // Later versions may add parts; version 00 has none, and ff is never one.
        if version == "ff" || (version == "00" && parts.next().is_some()) {
            return Err(NotATraceParent);
        }
        let [_version] = bytes_of(version)?;
        let [flags] = bytes_of(flags)?;
        TraceParent { trace_id: bytes_of(trace)?, span_id: bytes_of(span)?, flags }.checked()
    }

    pub fn to_bytes(self) -> [u8; TraceParent::BYTES] {
        let mut bytes = [0; TraceParent::BYTES];
        bytes[..16].copy_from_slice(&self.trace_id);
        bytes[16..24].copy_from_slice(&self.span_id);
        bytes[24] = self.flags;
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<TraceParent, NotATraceParent> {
        let (trace, rest) = bytes.split_first_chunk().ok_or(NotATraceParent)?;
        let (span, rest) = rest.split_first_chunk().ok_or(NotATraceParent)?;
        let [flags] = rest else { return Err(NotATraceParent) };
        TraceParent { trace_id: *trace, span_id: *span, flags: *flags }.checked()
    }

    fn checked(self) -> Result<TraceParent, NotATraceParent> {
        let zero = self.trace_id == [0; 16] || self.span_id == [0; 8];
        if zero { Err(NotATraceParent) } else { Ok(self) }
    }
}

fn bytes_of<const N: usize>(hex: &str) -> Result<[u8; N], NotATraceParent> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NotATraceParent),
    };
    let mut bytes = [0; N];
    if hex.len() != 2 * N {
        return Err(NotATraceParent);
    }
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(bytes)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trace_id = u128::from_be_bytes(self.trace_id);
        let span_id = u64::from_be_bytes(self.span_id);
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_was_read_is_written_the_same() {
        let read = TraceParent::parse(GIVEN).unwrap();
        assert!(read.is_sampled());
        assert_eq!(read.to_string(), GIVEN);
        assert_eq!(TraceParent::from_bytes(&read.to_bytes()), Ok(read));
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(wrong), Err(NotATraceParent), "{wrong}");
        }
        assert!(TraceParent::from_bytes(&[1; 24]).is_err());
        assert!(TraceParent::from_bytes(&[1; 26]).is_err());
    }
}
