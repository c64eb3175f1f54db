//! A short round of every parser, the same in every run: what `cargo xtask fuzz` does for longer.

use bellwether_fuzz::round;
use bellwether_fuzz::targets::TARGETS;

const INPUTS_EACH: u64 = 2_000;

#[test]
fn no_input_panics_or_costs_more_than_it_is_due() {
    let findings: Vec<String> = TARGETS
        .iter()
        .filter_map(|target| round::run(target, 0, 0..INPUTS_EACH).err())
        .map(|finding| finding.to_string())
        .collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
