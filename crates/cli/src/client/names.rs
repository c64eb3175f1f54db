//! Words for what the schema numbers.

use bellwether_sdk::v1;
use bellwether_wire::explained::{About, explained};
pub(crate) use bellwether_wire::words::{cause, detail, reason_code as reason, span, state};

/// The states that a word of the eight stands for.
pub(super) fn states(word: &str) -> Vec<v1::JobState> {
    ALL.into_iter().filter(|exact| state(*exact) == word || detail(*exact) == word).collect()
}

pub(super) const ALL: [v1::JobState; 10] = [
    v1::JobState::Waiting,
    v1::JobState::Delayed,
    v1::JobState::Ready,
    v1::JobState::Offered,
    v1::JobState::Running,
    v1::JobState::Completed,
    v1::JobState::Failed,
    v1::JobState::Cancelled,
    v1::JobState::Skipped,
    v1::JobState::DeadLettered,
];

pub(crate) fn worker_status(status: v1::WorkerStatus) -> &'static str {
    match status {
        v1::WorkerStatus::Unspecified => "unknown",
        v1::WorkerStatus::Idle => "idle",
        v1::WorkerStatus::Busy => "busy",
        v1::WorkerStatus::Overloaded => "overloaded",
        v1::WorkerStatus::Draining => "draining",
        v1::WorkerStatus::Unreachable => "unreachable",
    }
}

/// Why this worker. `name` tells the ids of the others.
pub(crate) fn decision_in_words(
    worker: &str,
    decision: &v1::Decision,
    name: impl Fn(u32) -> String,
) -> String {
    let about = About { worker: worker.to_owned(), ..About::default() };
    explained(about, decision, name).words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_states_are_those_that_scripts_know() {
        let words: std::collections::BTreeSet<&str> = ALL.into_iter().map(state).collect();
        let known = [
            "cancelled", "completed", "dead_lettered", "failed", "offered", "ready", "running",
            "waiting",
        ];
        assert_eq!(words.into_iter().collect::<Vec<_>>(), known);
        assert_eq!(states("waiting"), [v1::JobState::Waiting, v1::JobState::Delayed]);
        assert_eq!(states("skipped"), [v1::JobState::Skipped]);
        assert!(states("done").is_empty());
    }
}
