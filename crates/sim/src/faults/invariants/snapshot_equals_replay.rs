//! An engine restored from a snapshot is the engine that replayed every event: the same bytes, and
//! nothing that it would forget to do.

use bellwether_core::model::{Phase, Timestamp};
use bellwether_core::{Engine, JobState};
use bellwether_journal::state;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct SnapshotEqualsReplay {
    /// What the one that is being taken must be.
    expected: Vec<u8>,
}

impl Invariant for SnapshotEqualsReplay {
    fn name(&self) -> &'static str {
        "snapshot_equals_replay"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::SnapshotBegun { seq } => {
                let durable = view.follower.last_seq();
                if *seq != durable {
                    return Err(format!(
                        "a snapshot of {seq} is taken, the journal is at {durable}"
                    ));
                }
                self.expected = state::encode(view.follower.state());
                Ok(())
            }
            Observation::Snapshot { bytes, seq } => {
                let restored = state::decode(bytes)
                    .map_err(|error| format!("the snapshot at {seq} does not open: {error}"))?;
                if restored.last_seq() != *seq || *bytes != self.expected {
                    return Err(format!("the snapshot at {seq} is not what the journal makes"));
                }
                if state::encode(restored.state()) != *bytes {
                    return Err(format!("the snapshot at {seq} changes when taken again"));
                }
                wakes_in_time(&restored, None)
            }
            Observation::Recovered { engine, .. } => wakes_in_time(engine, None),
            Observation::Inspected { engine, now } => wakes_in_time(engine, Some(*now)),
            _ => Ok(()),
        }
    }
}

/// Timers are not facts and not in the snapshot: they must follow from it. A scheduler that has
/// just started gives everybody two heartbeats to be heard of.
fn wakes_in_time(engine: &Engine, running: Option<Timestamp>) -> Result<(), String> {
    let grace = engine.state().config().heartbeat_interval.times(2);
    let wakes = engine.next_deadline();
    for (number, job) in engine.state().jobs() {
        let Some(due) = due(engine, &job.state) else {
            continue;
        };
        let due = running.map_or(due, |now| due.max(now + grace));
        if wakes.is_none_or(|wakes| wakes > due) {
            return Err(format!("job {number} is due at {due:?}, the engine wakes at {wakes:?}"));
        }
    }
    Ok(())
}

/// When somebody must look at the job, even if nothing is heard of it.
fn due(engine: &Engine, state: &JobState) -> Option<Timestamp> {
    match state {
        JobState::Delayed { until } => Some(*until),
        JobState::Active(attempts) => attempts
            .iter()
            .map(|attempt| match attempt.phase {
                Phase::Offered { since, quiet_at } => {
                    quiet_at.max(since + engine.state().config().unreachable_after)
                }
                running @ Phase::Running { .. } => running.deadline(),
            })
            .min(),
        JobState::Waiting { .. }
        | JobState::Ready
        | JobState::Completed { .. }
        | JobState::Failed { .. }
        | JobState::Cancelled
        | JobState::Skipped { .. }
        | JobState::DeadLettered { .. } => None,
    }
}
