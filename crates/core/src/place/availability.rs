//! How loaded a worker is, and when it can take more.

use crate::model::{Micros, Timestamp};
use crate::state::{State, Worker};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    pub load_permille: u32,
    /// Jobs ahead of a new one: ours beyond its slots, and others'.
    pub queue_depth: u32,
    pub estimated_available_at: Timestamp,
}

/// What its last report says of others' load counts less the older it is: by the time the worker
/// would be called unreachable it counts for nothing.
pub fn decayed(value: u32, reported_at: Timestamp, now: Timestamp, gone_after: Micros) -> u32 {
    let age = now.since(reported_at).0.min(gone_after.0);
    let left = gone_after.0 - age;
    (u128::from(value) * u128::from(left) / u128::from(gone_after.0.max(1))) as u32
}

/// The same of jobs that wait, of which there are no parts: the last one counts until then.
pub fn decayed_jobs(jobs: u32, reported_at: Timestamp, now: Timestamp, gone_after: Micros) -> u32 {
    let age = now.since(reported_at).0.min(gone_after.0);
    let left = u128::from(gone_after.0 - age);
    (u128::from(jobs) * left).div_ceil(u128::from(gone_after.0.max(1))) as u32
}

pub fn load_permille(worker: &Worker, now: Timestamp, gone_after: Micros) -> u32 {
    let foreign = decayed(worker.foreign_load_permille, worker.beat_at, now, gone_after);
    worker.own_load_permille().saturating_add(foreign)
}

impl State {
    pub fn availability(&self, worker: &Worker, now: Timestamp) -> Availability {
        let gone_after = self.config.unreachable_after;
        let foreign = decayed_jobs(worker.foreign_queue, worker.beat_at, now, gone_after);
        let slots = worker.spec.slots as usize;
        let ours = u32::try_from(worker.held.len().saturating_sub(slots)).unwrap_or(u32::MAX);
        let queue_depth = ours.saturating_add(foreign);
        let average = self.average_duration(worker);
        let next_end = if worker.held.len() < slots { now } else { self.next_end(worker, now) };
        Availability {
            load_permille: load_permille(worker, now, gone_after),
            queue_depth,
            estimated_available_at: next_end + average.times(u64::from(queue_depth)),
        }
    }

    /// When the first of its attempts is expected to end.
    fn next_end(&self, worker: &Worker, now: Timestamp) -> Timestamp {
        let ends = worker.held.iter().filter_map(|held| {
            let attempt = self.job(held.job)?.attempt(held.token)?;
            Some(attempt.phase.since() + attempt.predicted)
        });
        ends.min().unwrap_or(now).max(now)
    }

    fn average_duration(&self, worker: &Worker) -> Micros {
        let predicted = worker
            .held
            .iter()
            .filter_map(|held| Some(self.job(held.job)?.attempt(held.token)?.predicted.0));
        let (sum, count) =
            predicted.fold((0u64, 0u64), |(sum, n), p| (sum.saturating_add(p), n + 1));
        sum.checked_div(count).map_or(self.config.duration_default, Micros)
    }
}
