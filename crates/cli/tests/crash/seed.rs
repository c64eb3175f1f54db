//! What is random here, and how much of it is done.

use bellwether_testbed::Random;

/// `BELLWETHER_SEED` repeats a run, as far as a run of real processes can be repeated.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("BELLWETHER_SEED").ok();
    let given = given.map(|text| text.parse().expect("BELLWETHER_SEED is a whole number"));
    let seed = given.unwrap_or_else(Random::any_seed);
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
