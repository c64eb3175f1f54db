//! Changes of fields, with the lengths of all that stands around them put right.

use prost::encoding::{decode_varint, encode_varint};

use super::times;
use crate::random::Random;

const NUMBERS: &[u64] =
    &[0, 1, 2, 127, 128, 255, 1_000, u32::MAX as u64, 1 << 32, i64::MAX as u64, u64::MAX];
const TIMES: &[usize] = &[1, 2, 65, 300, 5_000];

/// A field with its number; what is no field any more stays as it is.
#[derive(Debug, Clone)]
enum Field {
    Number(u64, u64),
    Bytes(u64, Vec<u8>),
    Rest(Vec<u8>),
}

pub(super) fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    mutate_up_to(input, u64::MAX, random)
}

fn mutate_up_to(input: &[u8], most: u64, random: &mut Random) -> Vec<u8> {
    let mut fields = read(input);
    let chosen = random.below(fields.len().max(1));
    match (random.below(8), fields.get(chosen).cloned()) {
        // Most changes lie deeper.
        (0..=3, Some(Field::Bytes(key, bytes))) if !bytes.is_empty() => {
            fields[chosen] = Field::Bytes(key, mutate_up_to(&bytes, most, random));
        }
        (0..=3, Some(Field::Number(key, _))) => {
            let number = random.pick(NUMBERS).copied().unwrap_or_default();
            fields[chosen] = Field::Number(key, number.min(most));
        }
        (4, Some(_)) => drop(fields.remove(chosen)),
        (5, Some(field)) => {
            let length = if let Field::Bytes(_, bytes) = &field { bytes.len() + 2 } else { 2 };
            let times = times(TIMES, length, random);
            drop(fields.splice(chosen..chosen, vec![field; times]));
        }
        (6, _) => {
            let key = ((1 + random.below(40)) << 3) as u64;
            fields.push(match random.below(3) {
                0 => Field::Number(key, random.next().min(most)),
                1 => Field::Bytes(key | 2, Vec::new()),
                _ => Field::Bytes(key | 2, input[random.range(input.len())].to_vec()),
            });
        }
        _ => {
            let other = random.below(fields.len().max(1));
            if other < fields.len() {
                fields.swap(chosen, other);
            }
        }
    }
    write(&fields)
}

/// The same in one of several pieces, each behind its length.
pub(super) fn mutate_piece(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut pieces = Vec::new();
    let mut rest = input;
    while let Ok(length) = decode_varint(&mut rest) {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
        let (piece, behind) = rest.split_at(length);
        pieces.push(piece.to_vec());
        rest = behind;
    }
    let chosen = random.below(pieces.len().max(1));
    if let Some(piece) = pieces.get_mut(chosen) {
        // Which numbers were given is what the snapshot says, and so how large its tables are.
        *piece = mutate_up_to(piece, 1 << 28, random);
    }
    let mut output = Vec::new();
    for piece in pieces {
        encode_varint(piece.len() as u64, &mut output);
        output.extend(piece);
    }
    output
}

fn read(mut input: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !input.is_empty() {
        let before = input;
        let Some(field) = read_one(&mut input) else {
            fields.push(Field::Rest(before.to_vec()));
            break;
        };
        fields.push(field);
    }
    fields
}

fn read_one(input: &mut &[u8]) -> Option<Field> {
    let key = decode_varint(input).ok()?;
    match key & 7 {
        0 => Some(Field::Number(key, decode_varint(input).ok()?)),
        2 => {
            let length = usize::try_from(decode_varint(input).ok()?).ok()?;
            let (bytes, rest) = input.split_at_checked(length)?;
            *input = rest;
            Some(Field::Bytes(key, bytes.to_vec()))
        }
        _ => None,
    }
}

fn write(fields: &[Field]) -> Vec<u8> {
    let mut output = Vec::new();
    for field in fields {
        match field {
            Field::Number(key, number) => {
                encode_varint(*key, &mut output);
                encode_varint(*number, &mut output);
            }
            Field::Bytes(key, bytes) => {
                encode_varint(*key, &mut output);
                encode_varint(bytes.len() as u64, &mut output);
                output.extend_from_slice(bytes);
            }
            Field::Rest(bytes) => output.extend_from_slice(bytes),
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_is_written_as_it_was_read() {
        let bytes = [0x0a, 3, 0x12, 1, b'a', 0x18, 0x96, 0x01, 0x0f];
        assert_eq!(write(&read(&bytes)), bytes);
    }
}
