//! Messages in words, for people: the same whichever way they came.

use crate::v1;
use crate::v1::reason::Kind;

/// Why this worker, by what it was compared and how the others fared.
pub fn decision(decision: &v1::ExplainedDecision) -> String {
    let reason = decision.reason.as_ref().map_or_else(String::new, reason);
    let mut text = format!(
        "worker {} was chosen because {reason}: expected to start after {} and to run {} (confidence {}%",
        decision.worker,
        span(decision.predicted_wait),
        span(decision.predicted_duration),
        decision.confidence_percent,
    );
    text.push_str(&match (decision.samples, decision.weights.is_some()) {
        (0, true) => ", a guess)".to_owned(),
        (0, false) => ")".to_owned(),
        (1, _) => ", from 1 job)".to_owned(),
        (samples, _) => format!(", from {samples} jobs)"),
    });
    if let [chosen, ..] = &decision.candidates[..] {
        text.push_str(&format!(", score {}", score(chosen.score)));
        if decision.weights.is_some() {
            let (wait, load) = (score(chosen.wait), score(chosen.load));
            let priority = score(chosen.priority);
            text.push_str(&format!(" = {wait} wait + {load} load + {priority} priority"));
        }
    }
    if decision.load_model {
        text.push_str("; it had to load the model first");
    }
    if decision.fallback {
        text.push_str("; the predictor was out of order, so turns were taken");
    }
    if let Some(second) = &decision.runner_up {
        text.push_str(&format!("; {}", runner_up(second)));
    }
    let others: Vec<String> = decision
        .candidates
        .iter()
        .skip(2)
        .map(|other| format!("{} at {}", other.worker, score(other.score)))
        .collect();
    if !others.is_empty() {
        text.push_str(&format!("; then {}", others.join(", ")));
    }
    text
}

fn runner_up(second: &v1::RunnerUp) -> String {
    let worker = &second.worker;
    match (second.behind, second.term.as_str()) {
        (0, _) => format!("worker {worker} had the same score and lost the tie"),
        (behind @ ..0, _) => {
            format!("worker {worker} had a better score by {}", score(-behind))
        }
        (behind, "") => format!("worker {worker} came second, {} behind", score(behind)),
        (behind, "wait") => format!(
            "worker {worker} came second, {} behind, because it would have been done later",
            score(behind)
        ),
        (behind, "load") => format!(
            "worker {worker} came second, {} behind, because it was more loaded",
            score(behind)
        ),
        (behind, term) => {
            format!("worker {worker} came second, {} behind, in {term}", score(behind))
        }
    }
}

fn reason(reason: &v1::Reason) -> String {
    match reason.kind() {
        Kind::Unspecified => "of reasons that are not recorded".to_owned(),
        Kind::OnlyWorker => "it was the only one that could take the job".to_owned(),
        Kind::LeastLoaded => format!("it was the least loaded, holding {}", reason.depth),
        Kind::ResourceFit => format!(
            "its free resources fit: {} of {} free millicores and {} of {} free bytes needed",
            reason.required_cpu, reason.free_cpu, reason.required_memory, reason.free_memory
        ),
        Kind::DataLocality => "it has the data".to_owned(),
        Kind::PreviouslyExecuted => "it has run such jobs before".to_owned(),
        Kind::SameZone => "it is in the same zone".to_owned(),
        Kind::PredictedBest => "it was predicted to be done soonest".to_owned(),
        Kind::NextInTurn => "it was its turn".to_owned(),
        Kind::StableHash => "the hash of the job fell on it".to_owned(),
        Kind::Hedge => "the first worker was quiet, so it was asked as well".to_owned(),
        Kind::SparesFastSlots => {
            "the last slots of the faster ones are kept for shorter jobs".to_owned()
        }
    }
}

/// How an attempt ended; nothing while it goes on.
pub fn ending(attempt: &v1::AttemptView) -> String {
    let worker = &attempt.worker;
    let told = match (attempt.state.as_str(), attempt.revoked(), attempt.cause()) {
        ("completed", ..) => "it completed".to_owned(),
        ("revoked", v1::RevokeReason::HedgeLost, _) => "the other offer won".to_owned(),
        ("revoked", v1::RevokeReason::Cancelled, _) => "the job was cancelled".to_owned(),
        ("revoked", v1::RevokeReason::GivenUp, _) => "the scheduler gave up on it".to_owned(),
        ("revoked", ..) => "it was revoked".to_owned(),
        (_, _, v1::FailureCause::Unspecified) => return String::new(),
        (_, _, v1::FailureCause::Failed) => "it failed".to_owned(),
        (_, _, v1::FailureCause::TimedOut) => "it ran longer than its timeout".to_owned(),
        (_, _, v1::FailureCause::Stalled) => "it stopped reporting progress".to_owned(),
        (_, _, v1::FailureCause::WorkerLost) => format!("worker {worker} was lost"),
        (_, _, v1::FailureCause::Undelivered) => {
            format!("the offer never reached worker {worker}")
        }
        (_, _, v1::FailureCause::Returned) => format!("worker {worker} gave it back"),
        (_, _, v1::FailureCause::Permanent) => "it failed, and no retry will help".to_owned(),
    };
    if attempt.error.is_empty() { told } else { format!("{told}: {}", attempt.error) }
}

/// Millionths as a number with three places.
fn score(millionths: i64) -> String {
    format!("{:.3}", millionths as f64 / 1e6)
}

/// Microseconds as people say them.
pub fn span(micros: u64) -> String {
    match micros {
        0 => "0 ms".to_owned(),
        1..=9_999 => format!("{:.2} ms", micros as f64 / 1e3),
        10_000..=999_999 => format!("{} ms", micros / 1_000),
        1_000_000..=119_999_999 => format!("{:.1} s", micros as f64 / 1e6),
        _ => format!("{} min", micros / 60_000_000),
    }
}

/// As `least_loaded`.
pub fn strategy(strategy: v1::Strategy) -> Option<&'static str> {
    match strategy {
        v1::Strategy::Unspecified => None,
        v1::Strategy::Predictive => Some("predictive"),
        v1::Strategy::LeastLoaded => Some("least_loaded"),
        v1::Strategy::RoundRobin => Some("round_robin"),
        v1::Strategy::Affinity => Some("affinity"),
        v1::Strategy::Random => Some("random"),
    }
}

pub fn predictor(predictor: v1::PredictorKind) -> Option<&'static str> {
    match predictor {
        v1::PredictorKind::Unspecified => None,
        v1::PredictorKind::Ema => Some("ema"),
        v1::PredictorKind::Hierarchical => Some("hierarchical"),
        v1::PredictorKind::Auto => Some("auto"),
    }
}

/// As `predicted_best`.
pub fn reason_code(kind: Kind) -> &'static str {
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

/// The eight states that scripts branch on.
pub fn state(state: v1::JobState) -> &'static str {
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
pub fn detail(exact: v1::JobState) -> &'static str {
    match exact {
        v1::JobState::Delayed => "delayed",
        v1::JobState::Skipped => "skipped",
        other => state(other),
    }
}

pub fn cause(cause: v1::FailureCause) -> Option<&'static str> {
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

pub fn revoked(reason: v1::RevokeReason) -> Option<&'static str> {
    match reason {
        v1::RevokeReason::Unspecified => None,
        v1::RevokeReason::HedgeLost => Some("hedge_lost"),
        v1::RevokeReason::Cancelled => Some("cancelled"),
        v1::RevokeReason::GivenUp => Some("given_up"),
        v1::RevokeReason::Unknown => Some("unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_told_with_its_terms_and_its_runner_up() {
        let candidate = |worker: &str, score, wait, load| v1::Candidate {
            worker: worker.to_owned(),
            score,
            wait,
            load,
            priority: score - wait - load,
            finish: 1_500_000,
        };
        let told = decision(&v1::ExplainedDecision {
            worker: "w1".to_owned(),
            reason: Some(v1::Reason { kind: Kind::PredictedBest.into(), ..Default::default() }),
            predicted_duration: 1_500_000,
            confidence_percent: 80,
            samples: 12,
            candidates: vec![
                candidate("w1", 900_000, 400_000, 400_000),
                candidate("w2", 700_000, 200_000, 400_000),
                candidate("w3", 600_000, 200_000, 300_000),
            ],
            runner_up: Some(v1::RunnerUp {
                worker: "w2".to_owned(),
                behind: 200_000,
                term: "wait".to_owned(),
            }),
            weights: Some(v1::Weights { wait: 400, load: 400, priority: 200 }),
            ..Default::default()
        });
        assert_eq!(
            told,
            "worker w1 was chosen because it was predicted to be done soonest: expected to start \
             after 0 ms and to run 1.5 s (confidence 80%, from 12 jobs), score 0.900 = 0.400 wait \
             + 0.400 load + 0.100 priority; worker w2 came second, 0.200 behind, because it would \
             have been done later; then w3 at 0.600"
        );
    }

    #[test]
    fn an_ending_says_who_and_why() {
        let attempt = v1::AttemptView {
            worker: "w7".to_owned(),
            state: "failed".to_owned(),
            cause: v1::FailureCause::WorkerLost.into(),
            error: "silent for 30 s".to_owned(),
            ..Default::default()
        };
        assert_eq!(ending(&attempt), "worker w7 was lost: silent for 30 s");
        assert_eq!(ending(&v1::AttemptView::default()), "");
    }
}
