//! Changes of whole values: what comes of them is JSON again, most often.

use std::ops::Range;

use super::{bytes, times};
use crate::random::Random;

const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1",
    "1e999",
    "-1e999",
    "1e-999",
    "0.1",
    "1E+2",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993",
    "3162240001",
    "\"\"",
    "\"a\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"é\"",
    "\"1e999\"",
    "[]",
    "{}",
    "[[]]",
    "{\"\":{}}",
    "\"2027-01-31T08:00:00Z\"",
    "\"9999-99-99T99:99:99Z\"",
    "\"+009999-12-31\"",
];
const DEPTHS: &[usize] = &[1, 99, 100, 101, 127, 128, 129, 2_000, 50_000];
const TIMES: &[usize] = &[2, 63, 64, 65, 300, 10_001];

pub(super) fn mutate(input: Vec<u8>, other: &[u8], random: &mut Random) -> Vec<u8> {
    let values = values(&input);
    let Some(range) = random.pick(&values).cloned() else {
        return bytes::mutate(input, other, random);
    };
    let value = &input[range.clone()];
    let new = match random.below(8) {
        0 | 1 => random.pick(VALUES).copied().unwrap_or_default().as_bytes().to_vec(),
        2 => random.pick(&values).map_or_else(Vec::new, |range| input[range.clone()].to_vec()),
        3 => {
            let theirs = self::values(other);
            random.pick(&theirs).map_or_else(Vec::new, |range| other[range.clone()].to_vec())
        }
        4 => {
            let depth = times(DEPTHS, 1, random);
            [b"[".repeat(depth), value.to_vec(), b"]".repeat(depth)].concat()
        }
        5 => {
            let times = times(TIMES, value.len() + 1, random);
            vec![value; times].join(&b","[..])
        }
        6 => {
            // A text, longer and longer.
            let times = times(TIMES, 1, random);
            [&b"\""[..], &b"x".repeat(times), b"\""].concat()
        }
        _ => Vec::new(),
    };
    let mut input = input;
    drop(input.splice(range, new));
    input
}

/// Where values, names of fields and whole fields lie.
fn values(json: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => open.push(start),
            b'}' | b']' => found.extend(open.pop().map(|start| start..at)),
            b'"' => {
                while let Some(byte) = json.get(at) {
                    at += 1 + usize::from(*byte == b'\\');
                    if *byte == b'"' {
                        break;
                    }
                }
                at = at.min(json.len());
                found.push(start..at);
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => {
                while json
                    .get(at)
                    .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                {
                    at += 1;
                }
                found.push(start..at);
            }
        }
    }
    found
}
