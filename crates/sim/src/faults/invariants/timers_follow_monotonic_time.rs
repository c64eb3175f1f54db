//! Spans are as long as they were meant to be, whatever is done to the wall clock: nothing is due
//! before its time, and nothing that is due is left lying.

use std::collections::BTreeMap;

use bellwether_core::model::{FailureCause, JobNo, Micros, Token, WorkerStatus};
use bellwether_core::{Engine, Entry, Event, JobState};

use super::Invariant;
use super::heard::Heard;
use crate::faults::court::{Observation, View};
use crate::faults::stage::ABSENCE_MIN;
use crate::faults::stamps::Stamp;

/// How late a timer may be, of the time that a scheduler listens: it hears what was sent to it while
/// it was away before time passes.
const LATE_MAX: u64 = 5_000_000;

#[derive(Debug, Default)]
pub(crate) struct TimersFollowMonotonicTime {
    heard: Heard,
    /// Delays and backoffs: when each began, and its length. A new scheduler goes on from where the
    /// journal ends or from the wall clock, so those that outlive one are not judged.
    waits: BTreeMap<JobNo, (Stamp, Micros)>,
    started: BTreeMap<(JobNo, Token), Stamp>,
    /// The longest that was ever configured.
    lease_max: Micros,
}

impl Invariant for TimersFollowMonotonicTime {
    fn name(&self) -> &'static str {
        "timers_follow_monotonic_time"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        self.heard.observe(seen);
        match seen {
            Observation::Recovered { .. } => {
                self.waits.clear();
                // Its time may begin a little ahead of where the last one's was.
                for began in self.started.values_mut() {
                    began.time = began.time.saturating_sub(ABSENCE_MIN);
                }
                Ok(())
            }
            Observation::Committed { entry } => {
                let at = view.stamps.of(entry.seq);
                self.follow(entry, at, view)
            }
            Observation::Quiet { engine } => self.nothing_is_overdue(engine, view),
            _ => Ok(()),
        }
    }
}

impl TimersFollowMonotonicTime {
    fn follow(&mut self, entry: &Entry, at: Stamp, view: &View<'_>) -> Result<(), String> {
        match &entry.event {
            Event::Submitted { first, jobs, .. } => {
                for (no, job) in (first.0..).zip(jobs) {
                    let extras = job.spec.extras();
                    // A moment of the wall clock that is later than the delay is no span.
                    if extras.delay > Micros::ZERO && extras.not_before == entry.at + extras.delay {
                        self.waits.insert(JobNo(no), (at, extras.delay));
                    }
                }
                Ok(())
            }
            Event::Retried { job, not_before, .. } => {
                self.waits.insert(*job, (at, not_before.since(entry.at)));
                Ok(())
            }
            Event::Due { job } => match self.waits.remove(job) {
                Some((began, span)) => elapsed(began, at, span, || format!("job {job} is due")),
                None => Ok(()),
            },
            Event::Started { job, token } | Event::Granted { job, token } => {
                self.started.insert((*job, *token), at);
                Ok(())
            }
            Event::AttemptFailed { job, token, cause: FailureCause::TimedOut, .. } => {
                let timeout = view.ledger.job(*job).and_then(|job| job.spec.timeout);
                match self.started.get(&(*job, *token)).zip(timeout) {
                    Some((began, timeout)) => {
                        elapsed(*began, at, timeout, || format!("{token} of job {job} times out"))
                    }
                    None => Ok(()),
                }
            }
            Event::Configured { config, .. } => {
                self.lease_max = self.lease_max.max(config.unreachable_after);
                Ok(())
            }
            event => {
                // It no longer waits, or for something else.
                if let Some(job) = event.job() {
                    self.waits.remove(&job);
                }
                Ok(())
            }
        }
    }

    fn nothing_is_overdue(&self, engine: &Engine, view: &View<'_>) -> Result<(), String> {
        let now = view.stamps.latest();
        for (no, (began, span)) in &self.waits {
            let waits = engine.state().job(*no).map(|job| &job.state);
            let late = now.listened.saturating_sub(began.listened).saturating_sub(span.0);
            if late > LATE_MAX && matches!(waits, Some(JobState::Delayed { .. })) {
                return Err(format!("job {no} still waits, {} after its time", Micros(late)));
            }
        }
        // Settings that were written and then found by the next scheduler were seen by nobody.
        let lease_max = self.lease_max.max(engine.state().config().unreachable_after);
        for (_, worker) in engine.state().workers() {
            let silent = self.heard.silent_for(worker.id(), now.listened).unwrap_or(0);
            let late = silent.saturating_sub(lease_max.0);
            if late > LATE_MAX && worker.status != WorkerStatus::Unreachable {
                let id = worker.id();
                return Err(format!("{id} is not missed, {} after its lease", Micros(late)));
            }
        }
        Ok(())
    }
}

fn elapsed(
    began: Stamp,
    now: Stamp,
    span: Micros,
    what: impl FnOnce() -> String,
) -> Result<(), String> {
    let elapsed = Micros(now.time.saturating_sub(began.time));
    if elapsed >= span { Ok(()) } else { Err(format!("{} after {elapsed}, not {span}", what())) }
}
