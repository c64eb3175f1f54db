//! What is random here, and how much of it is done.

use std::time::{SystemTime, UNIX_EPOCH};

/// `BELLWETHER_SEED` repeats a run, as far as a run of real processes can be repeated.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("BELLWETHER_SEED").ok();
    let given = given.map(|text| text.parse().expect("BELLWETHER_SEED is a whole number"));
    let seed = given.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::from(now.subsec_nanos())
    });
    eprintln!("BELLWETHER_SEED={seed}");
    seed
}

/// With `BELLWETHER_FULL=1` everything is tried; else as much as a quick run has time for.
pub(crate) fn is_full() -> bool {
    std::env::var_os("BELLWETHER_FULL").is_some_and(|value| value == "1")
}

/// Every so many, so that at most `most` are tried.
pub(crate) fn stride(all: usize, most: usize) -> usize {
    if is_full() { 1 } else { all.div_ceil(most).max(1) }
}

/// Splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
