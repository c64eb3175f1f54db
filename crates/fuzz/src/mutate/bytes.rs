//! Changes that know nothing of what they change.

use super::times;
use crate::random::Random;

/// Words that have a meaning somewhere.
const WORDS: &[&str] = &[
    "\0",
    "\u{feff}",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "&a",
    "*a",
    "<<: *a",
    "!!binary",
    "!!float",
    ".inf",
    ".nan",
    "- ",
    "? ",
    "| ",
    "> ",
    "---\n",
    "...\n",
    "#",
    "%",
    "1e999",
    "-1",
    "18446744073709551616",
    "0x7f",
    "0.1",
    "null",
    "true",
    "~",
    "é",
    "\u{202e}",
    "\u{10ffff}",
    "../../",
    "payload",
    "jobs",
    "run",
    "dependencies",
    "type",
];

const BYTES: &[&[u8]] = &[
    &[0xff],
    &[0x80],
    &[0xc3, 0x28],
    &[0xff; 10],
    &[0x00; 8],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x0a, 0x00],
    &[0x12, 0x7f],
];

pub(super) fn mutate(mut input: Vec<u8>, other: &[u8], random: &mut Random) -> Vec<u8> {
    let range = random.range(input.len());
    match random.below(10) {
        0 => drop(input.drain(range)),
        1 => {
            if let Some(byte) = input.get_mut(range.start) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = input.get_mut(range.start) {
                *byte = random.next() as u8;
            }
        }
        3 => {
            let piece = other[random.range(other.len())].to_vec();
            drop(input.splice(range, piece));
        }
        4 => {
            let piece = input[range.clone()].to_vec();
            let times = times(&[2, 100, usize::MAX], piece.len(), random);
            drop(input.splice(range.end..range.end, piece.repeat(times)));
        }
        5 => input.truncate(range.start),
        6 => {
            let bytes = random.pick(BYTES).copied().unwrap_or_default();
            drop(input.splice(range, bytes.iter().copied()));
        }
        7 => {
            let mut piece = input[range.clone()].to_vec();
            piece.reverse();
            drop(input.splice(range, piece));
        }
        _ => {
            let word = random.pick(WORDS).copied().unwrap_or_default();
            drop(input.splice(range.start..range.start, word.bytes()));
        }
    }
    input
}
