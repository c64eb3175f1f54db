//! Changes that keep enough of an input for the parser to get to the changed place.

mod bytes;
mod json;
mod protobuf;

use crate::random::Random;

/// What an input is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Json,
    Text,
    Protobuf,
    /// Pieces of protobuf, each behind its length.
    Pieces,
}

/// Longer inputs are cut.
const INPUT_BYTES_MAX: usize = 256 << 10;
/// What is repeated often gets about this long.
const REPEATED_BYTES_MAX: usize = 64 << 10;
/// One in so many repetitions is a long one.
const LONG_ONE_IN: usize = 16;
const MUTATIONS_MAX: usize = 6;

pub(crate) fn input(shape: Shape, corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(corpus).cloned().unwrap_or_default();
    let other = random.pick(corpus).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(MUTATIONS_MAX) {
        let blind = random.one_in(3);
        input = match shape {
            Shape::Json if !blind => json::mutate(input, &other, random),
            Shape::Protobuf if !blind => protobuf::mutate(&input, random),
            Shape::Pieces if !blind => protobuf::mutate_piece(&input, random),
            Shape::Json | Shape::Text | Shape::Protobuf | Shape::Pieces => {
                bytes::mutate(input, &other, random)
            }
        };
        input.truncate(INPUT_BYTES_MAX);
    }
    input
}

/// How often to repeat what has this length.
fn times(choices: &[usize], length: usize, random: &mut Random) -> usize {
    let chosen = random.pick(choices).copied().unwrap_or(1);
    let most = if random.one_in(LONG_ONE_IN) { REPEATED_BYTES_MAX } else { 1 << 10 };
    chosen.min(most / length.max(1)).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_input() {
        let corpus = vec![br#"{"a":[1,2],"b":"c"}"#.to_vec(), b"[]".to_vec()];
        let make = |number| input(Shape::Json, &corpus, &mut Random::of(7, "t", number));
        let (first, again): (Vec<_>, Vec<_>) =
            ((0..100).map(make).collect(), (0..100).map(make).collect());
        assert_eq!(first, again);
        let mut different = first.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 60, "{}", different.len());
    }
}
