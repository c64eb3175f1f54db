//! Entries out of a record that does not match its hash, each as far as it can be read: to say what
//! was changed, never to go on with.

use bellwether_core::Entry;
use bellwether_core::model::Seq;
use bellwether_wire::event::entries_from_wire;
use bellwether_wire::v1;
use prost::Message as _;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Where an entry is, and what it says or why it can't be read.
pub type Salvaged = (Seq, Result<Entry, String>);

/// What can be read of the record at this position.
pub fn salvage(at: Seq, bytes: &[u8]) -> Vec<Salvaged> {
    let mut found = Vec::new();
    let mut frame = v1::Record { first_seq: at.0, ..Default::default() };
    let mut rest = bytes;
    while !rest.is_empty() {
        let next = Seq(at.0 + found.len() as u64);
        match field(&mut rest, &mut frame) {
            Ok(None) => {}
            Ok(Some(entry)) => found.push((next, read(entry, next, &frame))),
            Err(error) => {
                found.push((next, Err(error.to_string())));
                break;
            }
        }
    }
    found
}

/// The bytes of an entry, or a field of the record, which is taken over.
fn field<'a>(
    rest: &mut &'a [u8],
    frame: &mut v1::Record,
) -> Result<Option<&'a [u8]>, prost::DecodeError> {
    let (tag, wire_type) = decode_key(rest)?;
    match (tag, wire_type) {
        (3, WireType::Varint) => frame.epoch = decode_varint(rest)?,
        (4, WireType::Varint) => frame.at = decode_varint(rest)?,
        (5, WireType::LengthDelimited) => {
            let length = usize::try_from(decode_varint(rest)?).unwrap_or(usize::MAX);
            let (entry, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            *rest = behind;
            return Ok(Some(entry));
        }
        _ => skip_field(wire_type, tag, rest, DecodeContext::default())?,
    }
    Ok(None)
}

fn read(bytes: &[u8], seq: Seq, frame: &v1::Record) -> Result<Entry, String> {
    let entry = v1::Entry::decode(bytes).map_err(|error| error.to_string())?;
    let alone = v1::Record { first_seq: seq.0, entries: vec![entry], ..frame.clone() };
    let entries = entries_from_wire(alone).map_err(|error| error.to_string())?;
    entries.into_iter().next().ok_or_else(|| "it is empty".to_owned())
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::Epoch;

    use super::*;
    use crate::conformance::samples::Samples;

    #[test]
    fn entries_around_a_broken_one_are_read() {
        let entries = Samples::new(1, Seq(6)).every_kind();
        let mut bytes = Vec::new();
        super::super::encode::record(&mut bytes, Epoch(3), &entries);
        let sound: Vec<_> = salvage(Seq(7), &bytes).into_iter().map(|(_, read)| read).collect();
        let written: Vec<_> = entries.iter().cloned().map(Ok).collect();
        assert_eq!(sound, written);

        // The key of the second entry's first field becomes one that no message has.
        let second = bytes.iter().enumerate().filter(|(_, byte)| **byte == 0x2a).nth(1);
        let (second, _) = second.expect("there are many entries");
        let mut broken = bytes.clone();
        for byte in &mut broken[second + 2..second + 6] {
            *byte = 0xff;
        }
        let found = salvage(Seq(7), &broken);
        assert!(found.iter().any(|(_, read)| read.is_err()));
        assert_eq!(found[0].1.as_ref(), Ok(&entries[0]));
    }
}
