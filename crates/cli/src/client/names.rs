//! Decisions in words.

use bellwether_sdk::v1;
use bellwether_wire::explained::{About, explained};

/// Why this worker. `name` tells the ids of the others.
pub(crate) fn decision_in_words(
    worker: &str,
    decision: &v1::Decision,
    name: impl Fn(u32) -> String,
) -> String {
    let about = About { worker: worker.to_owned(), ..About::default() };
    explained(about, decision, name).words
}
