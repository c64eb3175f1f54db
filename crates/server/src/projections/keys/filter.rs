//! Says at once of most keys that they are not in a run. Its blocks are in the order of the keys, so it is
//! written in one go with them, however many there are.

use super::entry::Start;

/// A key sets eight bits of one block, so a look touches one line of the cache.
const WORDS: usize = 8;
pub(super) const BLOCK_BYTES: usize = WORDS * size_of::<u32>();
/// About one of a thousand keys that are not there is looked for in vain.
const KEYS_PER_BLOCK: u64 = 16;
/// Odd numbers that spread a hash over the words of a block.
const SALTS: [u32; WORDS] = [
    0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947,
    0x5c6b_fb31,
];

pub(super) fn blocks_for(keys: u64) -> u64 {
    keys.div_ceil(KEYS_PER_BLOCK).max(1)
}

/// Which of so many blocks knows of this key.
pub(super) fn place(start: Start, blocks: u64) -> u64 {
    ((u128::from(start.high()) * u128::from(blocks)) >> 64) as u64
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Block([u32; WORDS]);

impl Block {
    pub(super) fn add(&mut self, start: Start) {
        for (word, bit) in self.0.iter_mut().zip(bits(start)) {
            *word |= bit;
        }
    }

    pub(super) fn may_have(&self, start: Start) -> bool {
        self.0.iter().zip(bits(start)).all(|(word, bit)| word & bit != 0)
    }

    pub(super) fn bytes(&self) -> [u8; BLOCK_BYTES] {
        let mut bytes = [0; BLOCK_BYTES];
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.0) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8; BLOCK_BYTES]) -> Block {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Block(words)
    }
}

fn bits(start: Start) -> impl Iterator<Item = u32> {
    SALTS.into_iter().map(move |salt| 1 << (start.low().wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::Name;

    use super::*;

    fn start(number: u64) -> Start {
        Start::of_key(&Name::fixed(&number.to_string()))
    }

    #[test]
    fn a_filter_has_all_that_was_added_and_little_else() {
        let blocks = blocks_for(10_000);
        let mut filter = vec![Block::default(); blocks as usize];
        (0..10_000).for_each(|n| filter[place(start(n), blocks) as usize].add(start(n)));
        let filter: Vec<Block> = filter.iter().map(|block| Block::read(&block.bytes())).collect();
        let may_have = |n: &u64| filter[place(start(*n), blocks) as usize].may_have(start(*n));
        assert!((0..10_000).all(|n| may_have(&n)));
        let wrong = (10_000..110_000).filter(may_have).count();
        assert!(wrong < 500, "{wrong} of 100000 are looked for in vain");
    }
}
