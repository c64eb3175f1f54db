//! Where a job stands among those that compete for the same workers, and what that means in time.

use std::collections::BTreeSet;

use crate::index::classes::Class;
use crate::index::groups::{GroupNo, expected_wait};
use crate::model::{JobNo, Micros, Target, Timestamp};
use crate::state::{Job, JobState, State, Worker};

/// Jobs ahead are counted up to here.
pub const AHEAD_MAX: usize = 10_000;
/// Dependencies that are looked through for the expected start of one job.
const LOOKED_THROUGH_MAX: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// At most [`AHEAD_MAX`].
    pub ahead: usize,
    pub ahead_in_class: usize,
}

impl State {
    pub(super) fn place(&self, no: JobNo, job: &Job, suitable: &[&Worker]) -> Place {
        let own = self.index.classes.get(job.derived.class);
        let before = ..(job.rank, no);
        let ahead_in_class = own.ready.range(before).take(AHEAD_MAX).count();
        let groups: BTreeSet<GroupNo> =
            suitable.iter().map(|worker| worker.listing.group).collect();
        let competes = |class: &&Class| match &class.requirements.target {
            _ if class.paused => false,
            Target::Receiver(id) => suitable.iter().any(|worker| worker.id() == id),
            Target::Any | Target::Role(_) => {
                class.groups.iter().any(|group| groups.contains(group))
            }
        };
        let rivals = self.index.classes.iter().filter(competes);
        let ahead = rivals.flat_map(|class| class.ready.range(before)).take(AHEAD_MAX).count();
        Place { ahead: ahead.max(ahead_in_class), ahead_in_class }
    }

    /// The slots that come free are taken in turn by those ahead; after that every job is
    /// expected to last as long as this one.
    pub(super) fn expected_start(
        &self,
        job: &Job,
        suitable: &[&Worker],
        ahead: usize,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let held = suitable.iter().flat_map(|worker| &worker.held);
        let mut ends: Vec<Timestamp> = held
            .filter_map(|held| {
                let attempt = self.job(held.job)?.attempt(held.token)?;
                Some(now + expected_wait(attempt.offered_at + attempt.predicted, now))
            })
            .collect();
        ends.sort_unstable();
        let rounds = ahead.checked_div(ends.len())?;
        let slot = ends[ahead % ends.len()];
        Some(slot + job.predicted.times(rounds as u64))
    }

    /// When the last of its dependencies is expected to be done, if none of them has to queue: no
    /// sooner than that. None where a dependency waits for something that no clock brings.
    pub(super) fn expected_ready(&self, job: &Job, now: Timestamp) -> Option<Timestamp> {
        let mut left = LOOKED_THROUGH_MAX;
        self.dependencies_done(job, now, &mut left).map(|wait| now + wait)
    }

    fn dependencies_done(&self, job: &Job, now: Timestamp, left: &mut usize) -> Option<Micros> {
        let mut latest = Micros::ZERO;
        for dependency in job.dependencies.iter().filter_map(|no| self.job(*no)) {
            *left = left.checked_sub(1)?;
            latest = latest.max(self.done_in(dependency, now, left)?);
        }
        Some(latest)
    }

    fn done_in(&self, job: &Job, now: Timestamp, left: &mut usize) -> Option<Micros> {
        let lasts = job.predicted;
        match &job.state {
            JobState::Active(attempts) => {
                let end = |attempt: &crate::model::Attempt| attempt.offered_at + attempt.predicted;
                attempts.iter().map(|attempt| expected_wait(end(attempt), now)).min()
            }
            JobState::Ready if self.index.classes.get(job.derived.class).paused => None,
            JobState::Ready => Some(lasts),
            JobState::Delayed { until } => Some(until.since(now) + lasts),
            JobState::Waiting { .. } => Some(self.dependencies_done(job, now, left)? + lasts),
            JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. } => Some(Micros::ZERO),
        }
    }
}
