//! Says at once of most keys that they are not in a run.

/// A key sets eight bits of one block, so a look touches one line of the cache.
const WORDS: usize = 8;
/// Per key: of a thousand keys that are not there, about one is looked for in vain.
pub(super) const BYTES_PER_KEY: usize = 2;
/// Odd numbers that spread a hash over the words of a block.
const SALTS: [u32; WORDS] = [
    0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947,
    0x5c6b_fb31,
];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter {
    blocks: Vec<[u32; WORDS]>,
}

impl Filter {
    pub(super) fn for_keys(keys: usize) -> Filter {
        let blocks = (keys * BYTES_PER_KEY).div_ceil(size_of::<[u32; WORDS]>()).max(1);
        Filter { blocks: vec![[0; WORDS]; blocks] }
    }

    pub(super) fn add(&mut self, hash: u64) {
        let block = self.block(hash);
        for (word, bit) in self.blocks[block].iter_mut().zip(bits(hash)) {
            *word |= bit;
        }
    }

    pub(super) fn may_have(&self, hash: u64) -> bool {
        let block = &self.blocks[self.block(hash)];
        block.iter().zip(bits(hash)).all(|(word, bit)| word & bit != 0)
    }

    fn block(&self, hash: u64) -> usize {
        (((hash >> 32) * self.blocks.len() as u64) >> 32) as usize
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.blocks.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// None if that is no filter.
    pub(super) fn read(bytes: &[u8]) -> Option<Filter> {
        let (words, []) = bytes.as_chunks::<4>() else { return None };
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let (blocks, []) = words.as_chunks::<WORDS>() else { return None };
        (!blocks.is_empty()).then(|| Filter { blocks: blocks.to_vec() })
    }
}

fn bits(hash: u64) -> impl Iterator<Item = u32> {
    SALTS.into_iter().map(move |salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> u64 {
        u64::from_le_bytes(blake3::hash(&number.to_le_bytes()).as_bytes()[..8].try_into().unwrap())
    }

    #[test]
    fn a_filter_has_all_that_was_added_and_little_else() {
        let mut filter = Filter::for_keys(10_000);
        (0..10_000).for_each(|number| filter.add(hash(number)));
        let filter = Filter::read(&filter.bytes()).unwrap();
        assert!((0..10_000).all(|number| filter.may_have(hash(number))));
        let wrong = (10_000..110_000).filter(|number| filter.may_have(hash(*number))).count();
        assert!(wrong < 500, "{wrong} of 100000 are looked for in vain");
    }
}
