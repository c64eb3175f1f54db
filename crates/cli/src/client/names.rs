//! Words for what the schema numbers.

use bellwether_sdk::v1;
use bellwether_sdk::v1::reason::Kind;

/// The eight states that scripts branch on.
pub(super) fn state(state: v1::JobState) -> &'static str {
    match state {
        v1::JobState::Unspecified => "unknown",
        v1::JobState::Waiting | v1::JobState::Delayed => "waiting",
        v1::JobState::Ready => "ready",
        v1::JobState::Offered => "offered",
        v1::JobState::Running => "running",
        v1::JobState::Completed => "completed",
        v1::JobState::Failed => "failed",
        v1::JobState::Cancelled | v1::JobState::Skipped => "cancelled",
        v1::JobState::DeadLettered => "dead_lettered",
    }
}

/// The same, telling apart what waits for time or was skipped.
pub(super) fn detail(exact: v1::JobState) -> &'static str {
    match exact {
        v1::JobState::Delayed => "delayed",
        v1::JobState::Skipped => "skipped",
        other => state(other),
    }
}

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

pub(super) fn cause(cause: v1::FailureCause) -> Option<&'static str> {
    match cause {
        v1::FailureCause::Unspecified => None,
        v1::FailureCause::Failed => Some("failed"),
        v1::FailureCause::TimedOut => Some("timed_out"),
        v1::FailureCause::Stalled => Some("stalled"),
        v1::FailureCause::WorkerLost => Some("worker_lost"),
        v1::FailureCause::Undelivered => Some("undelivered"),
        v1::FailureCause::Returned => Some("returned"),
        v1::FailureCause::Permanent => Some("permanent"),
    }
}

pub(super) fn worker_status(status: v1::WorkerStatus) -> &'static str {
    match status {
        v1::WorkerStatus::Unspecified => "unknown",
        v1::WorkerStatus::Idle => "idle",
        v1::WorkerStatus::Busy => "busy",
        v1::WorkerStatus::Overloaded => "overloaded",
        v1::WorkerStatus::Draining => "draining",
        v1::WorkerStatus::Unreachable => "unreachable",
    }
}

pub(super) fn reason(kind: Kind) -> &'static str {
    match kind {
        Kind::Unspecified => "unknown",
        Kind::OnlyWorker => "only_worker",
        Kind::LeastLoaded => "least_loaded",
        Kind::ResourceFit => "resource_fit",
        Kind::DataLocality => "data_locality",
        Kind::PreviouslyExecuted => "previously_executed",
        Kind::SameZone => "same_zone",
        Kind::PredictedBest => "predicted_best",
        Kind::NextInTurn => "next_in_turn",
        Kind::StableHash => "stable_hash",
        Kind::Hedge => "hedge",
        Kind::SparesFastSlots => "spares_fast_slots",
    }
}

fn reason_in_words(reason: &v1::Reason) -> String {
    match reason.kind() {
        Kind::Unspecified => "for reasons that are not recorded".to_owned(),
        Kind::OnlyWorker => "it was the only one that could take the job".to_owned(),
        Kind::LeastLoaded => format!("it was the least loaded, with {} waiting", reason.depth),
        Kind::ResourceFit => format!(
            "its free resources fit best: {} of {} millicores and {} of {} bytes needed",
            reason.required_cpu, reason.free_cpu, reason.required_memory, reason.free_memory
        ),
        Kind::DataLocality => "it has the data".to_owned(),
        Kind::PreviouslyExecuted => "it has run such jobs before".to_owned(),
        Kind::SameZone => "it is in the same zone".to_owned(),
        Kind::PredictedBest => "it was predicted to be the best".to_owned(),
        Kind::NextInTurn => "it was its turn".to_owned(),
        Kind::StableHash => "the hash of the job fell on it".to_owned(),
        Kind::Hedge => "the first worker was quiet, so it was asked as well".to_owned(),
        Kind::SparesFastSlots => {
            "the last slots of the faster ones are kept for shorter jobs".to_owned()
        }
    }
}

/// Why this worker. `name` tells the ids of the others.
pub(crate) fn decision_in_words(
    worker: &str,
    decision: &v1::Decision,
    name: impl Fn(u32) -> String,
) -> String {
    let reason = decision.reason.as_ref().map_or_else(String::new, reason_in_words);
    let mut text = format!(
        "worker {worker} was chosen because {reason}: expected to start after {} and to run {} \
         (confidence {}%), score {:.3}",
        span(decision.predicted_wait),
        span(decision.predicted_duration),
        decision.confidence_percent,
        decision.score as f64 / 1e6,
    );
    if decision.load_model {
        text.push_str("; it had to load the model first");
    }
    if decision.fallback {
        text.push_str("; the predictor was out of order, so turns were taken");
    }
    let losers: Vec<String> = decision
        .losers
        .iter()
        .map(|loser| format!("{} at {:.3}", name(loser.worker), loser.score as f64 / 1e6))
        .collect();
    if !losers.is_empty() {
        text.push_str("; the next best: ");
        text.push_str(&losers.join(", "));
    }
    text
}

/// Microseconds as people say them.
pub(super) fn span(micros: u64) -> String {
    match micros {
        0 => "0 ms".to_owned(),
        1..=9_999 => format!("{:.2} ms", micros as f64 / 1e3),
        10_000..=999_999 => format!("{} ms", micros / 1_000),
        1_000_000..=119_999_999 => format!("{:.1} s", micros as f64 / 1e6),
        _ => format!("{} min", micros / 60_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_states_are_those_that_scripts_know() {
        let words: std::collections::BTreeSet<&str> = ALL.into_iter().map(state).collect();
        let known = [
            "cancelled",
            "completed",
            "dead_lettered",
            "failed",
            "offered",
            "ready",
            "running",
            "waiting",
        ];
        assert_eq!(words.into_iter().collect::<Vec<_>>(), known);
        assert_eq!(states("waiting"), [v1::JobState::Waiting, v1::JobState::Delayed]);
        assert_eq!(states("skipped"), [v1::JobState::Skipped]);
        assert!(states("done").is_empty());
    }

    #[test]
    fn a_decision_is_told_with_its_losers() {
        let reason = v1::Reason { kind: Kind::PredictedBest.into(), ..Default::default() };
        let decision = v1::Decision {
            score: 812_000,
            predicted_duration: 1_500_000,
            confidence_percent: 80,
            reason: Some(reason),
            losers: vec![v1::Loser { worker: 2, score: 700_000, ..Default::default() }],
            ..Default::default()
        };
        let text = decision_in_words("w1", &decision, |no| format!("w{no}"));
        assert_eq!(
            text,
            "worker w1 was chosen because it was predicted to be the best: expected to start after \
             0 ms and to run 1.5 s (confidence 80%), score 0.812; the next best: w2 at 0.700"
        );
    }
}
