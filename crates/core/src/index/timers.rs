//! When the supervisor must look at what.

use std::collections::BTreeSet;

use crate::model::{JobNo, Timestamp, Token, WorkerNo};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A worker has not been heard of.
    Worker(WorkerNo),
    /// A job's backoff or delay is over.
    Delayed(JobNo),
    /// An attempt is quiet, late or stalled.
    Attempt(JobNo, Token),
    /// A silent worker has spoken.
    Silent(WorkerNo),
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    set: BTreeSet<(Timestamp, Timer)>,
    /// Those of delayed jobs.
    delayed: u64,
}

impl Timer {
    fn of_delayed(self) -> u64 {
        u64::from(matches!(self, Timer::Delayed(_)))
    }
}

impl Timers {
    pub(crate) fn set(&mut self, at: Timestamp, timer: Timer) {
        if self.set.insert((at, timer)) {
            self.delayed += timer.of_delayed();
        }
    }

    pub(crate) fn unset(&mut self, at: Timestamp, timer: Timer) {
        if self.set.remove(&(at, timer)) {
            self.delayed -= timer.of_delayed();
        }
    }

    /// Jobs that wait for a moment, in its order.
    pub(crate) fn delayed_jobs(&self) -> Vec<JobNo> {
        let jobs = self.set.iter().filter_map(|(_, timer)| match timer {
            Timer::Delayed(job) => Some(*job),
            Timer::Worker(_) | Timer::Attempt(..) | Timer::Silent(_) => None,
        });
        jobs.collect()
    }

    pub(crate) fn delayed(&self) -> u64 {
        self.delayed
    }

    /// No attempt is looked at before this moment.
    pub(crate) fn postpone_attempts(&mut self, until: Timestamp) {
        let early: Vec<_> = self.set.iter().take_while(|(at, _)| *at < until).copied().collect();
        for (at, timer) in early {
            if let Timer::Attempt(..) = timer {
                self.set.remove(&(at, timer));
                self.set.insert((until, timer));
            }
        }
    }

    /// Those that follow from facts alone.
    pub(crate) fn keep_delayed(&mut self) {
        self.set.retain(|(_, timer)| matches!(timer, Timer::Delayed(_)));
    }

    #[cfg(feature = "defects")]
    pub(crate) fn clear(&mut self) {
        *self = Timers::default();
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.set.first().map(|(at, _)| *at)
    }

    /// Takes the first timer that is due.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<Timer> {
        let (at, timer) = *self.set.first()?;
        if at > now {
            return None;
        }
        self.unset(at, timer);
        Some(timer)
    }
}
