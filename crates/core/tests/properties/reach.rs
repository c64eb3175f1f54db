//! Random histories are worth something only if they get everywhere.

use std::collections::BTreeSet;

use bellwether_core::Event;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::history::{steps, take, tight};
use crate::script::World;

/// Events, reasons of decisions, and explanations. What is not here is rare in histories of this
/// length, and scripts show it.
const REACHED: &str = "
    attempt_failed attempt_revoked breaker_opened breaker_closed config_changed job_cancelled
    job_completed job_dead_lettered job_due job_escalated job_failed job_granted job_hedged
    job_pinned job_progressed job_reopened job_retried job_skipped job_started job_submitted
    model_loaded predictor_failed task_assigned type_paused type_unpaused worker_draining
    worker_joined worker_left worker_lost worker_reported worker_returned worker_silent worker_heard
    worker_undrained
    DataLocality Hedge LeastLoaded NextInTurn OnlyWorker PredictedBest PreviouslyExecuted StableHash
    Busy Dependencies Ended Held Impossible Moment NoReceiver NoWorkers Paused Placed Unavailable
";

#[test]
fn random_histories_get_everywhere() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for _ in 0..150 {
        let steps = steps(120).new_tree(&mut runner).unwrap().current();
        let mut world = World::new(tight());
        for step in &steps {
            take(&mut world, step);
            let state = world.engine.state();
            let reasons = state.jobs().map(|(no, _)| state.why(no, world.now).because);
            seen.extend(reasons.map(|because| variant(&because)));
        }
        for entry in &world.journal {
            seen.insert(entry.event.name().to_owned());
            if let Event::Assigned { decision, .. } = &entry.event {
                seen.insert(variant(&decision.reason));
            }
        }
    }
    let missed: Vec<&str> =
        REACHED.split_whitespace().filter(|name| !seen.contains(*name)).collect();
    assert!(missed.is_empty(), "random histories no longer reach {missed:?}");
}

fn variant(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}
