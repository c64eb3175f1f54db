//! Moments as people see them: the scheduler's time is its own, and the wall clock may be elsewhere.

use bellwether_core::model::{Timestamp, WallAhead};
use bellwether_wire::v1;

/// Whoever shows a moment shows what the wall clock says, as far as it is ahead now: then moments
/// keep their order and spans their length. 0 is a moment that has not come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown(pub(crate) WallAhead);

impl Shown {
    pub(crate) fn moment(self, at: u64) -> u64 {
        if at == 0 { 0 } else { self.0.on_the_wall(Timestamp(at)).0 }
    }

    /// The scheduler's time of a moment that somebody names.
    pub(crate) fn named(self, at: u64) -> u64 {
        if at == 0 { 0 } else { self.0.from_the_wall(Timestamp(at)).0 }
    }

    pub(crate) fn job(self, mut job: v1::Job) -> v1::Job {
        for at in [&mut job.submitted_at, &mut job.started_at, &mut job.ended_at] {
            *at = self.moment(*at);
        }
        for attempt in &mut job.attempts {
            for at in [&mut attempt.offered_at, &mut attempt.started_at, &mut attempt.ended_at] {
                *at = self.moment(*at);
            }
        }
        // Without a delay it is a moment of the wall clock already.
        if let Some(spec) = job.spec.as_mut().filter(|spec| spec.delay > 0) {
            spec.not_before = self.moment(spec.not_before);
        }
        job
    }

    pub(crate) fn waiting_for(self, mut waiting: v1::WaitingFor) -> v1::WaitingFor {
        waiting.until = self.moment(waiting.until);
        if let Some(nearest) = &mut waiting.nearest {
            nearest.available_at = self.moment(nearest.available_at);
        }
        waiting
    }
}
