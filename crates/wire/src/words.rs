//! Messages in words, for people: the same whichever way they came.

pub use bellwether_core::counted;
use bellwether_core::model::JobStatus;
use bellwether_core::words;

use crate::v1::reason::Kind as Reason;
use crate::v1::shortage::What as Lacking;
use crate::v1::{
    AttemptState, JobState, LogStream, SchedulerRole, SchedulerStanding, ScoreTerm, WaitReason,
    WorkerStatus,
};
use crate::{Mirror as _, v1};

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
        (samples, _) => format!(", from {})", counted(u64::from(samples), "job")),
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
    match (second.behind, second.term()) {
        (0, _) => format!("worker {worker} had the same score and lost the tie"),
        (behind @ ..0, _) => {
            format!("worker {worker} had a better score by {}", score(-behind))
        }
        (behind, ScoreTerm::Unspecified) => {
            format!("worker {worker} came second, {} behind", score(behind))
        }
        (behind, ScoreTerm::Wait) => format!(
            "worker {worker} came second, {} behind, because it would have been done later",
            score(behind)
        ),
        (behind, ScoreTerm::Load) => format!(
            "worker {worker} came second, {} behind, because it was more loaded",
            score(behind)
        ),
    }
}

fn reason(reason: &v1::Reason) -> String {
    match reason.kind() {
        Reason::Unspecified => "of reasons that are not recorded".to_owned(),
        Reason::OnlyWorker => "it was the only one that could take the job".to_owned(),
        Reason::LeastLoaded => format!("it was the least loaded, holding {}", reason.depth),
        Reason::ResourceFit => format!(
            "its free resources fit: {} of {} free millicores and {} of {} free bytes needed",
            reason.required_cpu, reason.free_cpu, reason.required_memory, reason.free_memory
        ),
        Reason::DataLocality => "it has the data".to_owned(),
        Reason::PreviouslyExecuted => "it has run such jobs before".to_owned(),
        Reason::SameZone => "it is in the same zone".to_owned(),
        Reason::PredictedBest => "it was predicted to be done soonest".to_owned(),
        Reason::NextInTurn => "it was its turn".to_owned(),
        Reason::StableHash => "the hash of the job fell on it".to_owned(),
        Reason::Hedge => "the first worker was quiet, so it was asked as well".to_owned(),
        Reason::NotWhereItFailed => {
            "it was the best of those where the last attempt did not fail".to_owned()
        }
        Reason::ToLearn => {
            "it may be faster than is known, and one job is enough to find out".to_owned()
        }
        Reason::SparesFastSlots => {
            "the last slots of the faster ones are kept for shorter jobs".to_owned()
        }
    }
}

/// How an attempt ended; nothing while it goes on.
pub fn ending(attempt: &v1::AttemptView) -> String {
    let worker = &attempt.worker;
    let told = match (attempt.state(), attempt.revoked(), attempt.cause()) {
        (AttemptState::Completed, ..) => "it completed".to_owned(),
        (AttemptState::Revoked, v1::RevokeReason::HedgeLost, _) => "the other offer won".to_owned(),
        (AttemptState::Revoked, v1::RevokeReason::Cancelled, _) => {
            "the job was cancelled".to_owned()
        }
        (AttemptState::Revoked, v1::RevokeReason::GivenUp, _) => {
            "the scheduler gave up on it".to_owned()
        }
        (AttemptState::Revoked, v1::RevokeReason::HandedOff, _) => {
            format!("worker {worker} handed it off")
        }
        (AttemptState::Revoked, ..) => "it was revoked".to_owned(),
        (_, _, v1::FailureCause::Unspecified) => return String::new(),
        (_, _, v1::FailureCause::Failed) => "it failed".to_owned(),
        (_, _, v1::FailureCause::TimedOut) => "it ran longer than its timeout".to_owned(),
        (_, _, v1::FailureCause::Stalled) => "it stopped reporting progress".to_owned(),
        (_, _, v1::FailureCause::WorkerLost) => format!("worker {worker} was lost"),
        (_, _, v1::FailureCause::Undelivered) => {
            format!("the offer never reached worker {worker}")
        }
        (_, _, v1::FailureCause::Returned) => format!("worker {worker} gave it back"),
        (_, _, v1::FailureCause::NoHandler) => {
            format!("worker {worker} has no handler for its type")
        }
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

impl JobState {
    pub fn has_ended(self) -> bool {
        JobStatus::from_wire(self as i32).is_some_and(JobStatus::has_ended)
    }
}

words!(
    WorkerStatus:
    Idle => "idle", Busy => "busy", Overloaded => "overloaded", Draining => "draining",
    Unreachable => "unreachable", Left => "left", Silent => "silent";
    Unspecified => "unknown"
);
words!(
    Reason:
    OnlyWorker => "only_worker", LeastLoaded => "least_loaded", ResourceFit => "resource_fit",
    DataLocality => "data_locality", PreviouslyExecuted => "previously_executed",
    SameZone => "same_zone", PredictedBest => "predicted_best", NextInTurn => "next_in_turn",
    StableHash => "stable_hash", Hedge => "hedge", SparesFastSlots => "spares_fast_slots",
    NotWhereItFailed => "not_where_it_failed", ToLearn => "to_learn";
    Unspecified => "unknown"
);

words!(
    AttemptState:
    Offered => "offered", Running => "running", Completed => "completed", Failed => "failed",
    Revoked => "revoked";
    Unspecified => "unknown"
);
words!(
    SchedulerStanding:
    Alone => "alone", Following => "following", Standing => "standing", Acceding => "acceding",
    Reigning => "leading", Learning => "learning";
    Unspecified => "unknown"
);
words!(
    SchedulerRole:
    Alone => "alone", Leader => "leader", Follower => "follower";
    Unspecified => "unknown"
);
words!(
    LogStream:
    Stdout => "stdout", Stderr => "stderr", Log => "log";
    Unspecified => "unknown"
);
words!(ScoreTerm: Wait => "wait", Load => "load"; Unspecified => "");
words!(
    WaitReason:
    Dependencies => "dependencies", Delay => "delay", Backoff => "backoff", Paused => "paused",
    NoWorkers => "no_workers", NoReceiver => "no_receiver", MissingRole => "missing_role",
    MissingCapability => "missing_capability", MissingModel => "missing_model",
    CpuTooSmall => "cpu_too_small", MemoryTooSmall => "memory_too_small", Draining => "draining",
    Overloaded => "overloaded", Unreachable => "unreachable", Unavailable => "unavailable",
    Slots => "slots", Cpu => "cpu", Memory => "memory", Queue => "queue", Held => "held",
    Next => "next", MissingType => "missing_type", Silent => "silent",
    Key => "key";
    Unspecified => "unknown"
);
words!(
    Lacking:
    Role => "role", Capability => "capability", Model => "model", Cpu => "cpu",
    Memory => "memory", Slots => "slots", Queue => "queue", Draining => "draining",
    Overloaded => "overloaded", Unreachable => "unreachable", Slower => "slower",
    Type => "type", Silent => "silent";
    Unspecified => "unknown"
);

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
            reason: Some(v1::Reason { kind: Reason::PredictedBest.into(), ..Default::default() }),
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
                term: ScoreTerm::Wait.into(),
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
            state: AttemptState::Failed.into(),
            cause: v1::FailureCause::WorkerLost.into(),
            error: "silent for 30 s".to_owned(),
            ..Default::default()
        };
        assert_eq!(ending(&attempt), "worker w7 was lost: silent for 30 s");
        assert_eq!(ending(&v1::AttemptView::default()), "");
    }
}
