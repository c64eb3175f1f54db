//! The simulation's only source of chance: xoshiro256++, seeded through splitmix64.
//!
//! Written out here so that a seed means the same run on every machine and for ever, whatever
//! other crates do.

use bellwether_core::model::Name;

/// A stream of numbers that a seed determines.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut mixer = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut mixer)) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// From 0 to `bound - 1`; 0 if the bound is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high half of a wide product: no modulo bias that a simulation could notice.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `permille` of a thousand cases.
    pub(crate) fn chance(&mut self, permille: u32) -> bool {
        permille > 0 && self.below(1_000) < u64::from(permille)
    }

    /// # Panics
    /// If there is nothing to pick from.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// # Panics
    /// If there is nothing to pick from.
    pub(crate) fn pick_name(&mut self, names: &[&str]) -> Name {
        Name::fixed(names[self.index(names.len())])
    }

    /// A position in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// As often short as long: a span between `low` and `high` whose order of magnitude is even.
    pub(crate) fn skewed(&mut self, low: u64, high: u64) -> u64 {
        let low = low.max(1);
        let doublings = u64::from((high / low).max(1).ilog2());
        let top = low << self.between(0, doublings);
        self.between(low, (2 * top).min(high).max(low))
    }

    /// A stream of its own, so that one part's draws do not shift another's.
    pub(crate) fn fork(&mut self) -> Random {
        Random::new(self.next())
    }
}

/// One step of splitmix64; also a good hash of one number.
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut random = Random::new(7);
        let drawn: Vec<u64> = (0..3).map(|_| random.next()).collect();
        let mut again = Random::new(7);
        assert_eq!(drawn, (0..3).map(|_| again.next()).collect::<Vec<_>>());
        assert_ne!(drawn[0], Random::new(8).next());
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        let mut random = Random::new(1);
        for _ in 0..10_000 {
            assert!(random.below(7) < 7);
            assert!((3..=5).contains(&random.between(3, 5)));
            assert!((10..=90).contains(&random.skewed(10, 90)));
        }
        assert!(!random.chance(0));
        assert!(random.chance(1_000));
    }
}
