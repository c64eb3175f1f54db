//! What the loop counts itself, in plain numbers that only it touches.

use std::time::{Duration, Instant};

use bellwether_core::model::{Actor, Micros, Timestamp, WallAhead};
use bellwether_core::{Command, Engine, Handled};
use bellwether_host::Observer;

use super::histogram::{COUNTS, Histogram, SHORT_SPANS, SPANS};

/// One in so many commands is timed, because looking at the clock costs as much as a small command.
const TIMED_ONE_IN: u64 = 16;

#[derive(Debug, Clone)]
pub(crate) struct Meters {
    pub(super) commands: u64,
    pub(super) refused: u64,
    pub(super) events: u64,
    pub(super) batches: u64,
    /// Results of jobs that another attempt had completed.
    pub(super) duplicates: u64,
    pub(super) late_rounds: u64,
    /// Added up, how long nobody had listened before a late round.
    pub(super) away: Micros,
    pub(super) clock_steps: u64,
    /// Snapshots that were saved.
    pub(crate) snapshots: u64,
    /// Whatever comes meanwhile waits for the end of a round.
    pub(super) round: Histogram,
    pub(super) round_max: Duration,
    /// The part of a round that a snapshot takes.
    pub(super) slice_max: Duration,
    pub(super) decision: Histogram,
    pub(super) append: Histogram,
    pub(super) batch_events: Histogram,
    /// When the present command began, if it is one of those that are timed.
    begun: Option<Instant>,
}

impl Default for Meters {
    fn default() -> Meters {
        Meters {
            commands: 0,
            refused: 0,
            events: 0,
            batches: 0,
            duplicates: 0,
            late_rounds: 0,
            away: Micros::ZERO,
            clock_steps: 0,
            snapshots: 0,
            round: Histogram::new(&SPANS),
            round_max: Duration::ZERO,
            slice_max: Duration::ZERO,
            decision: Histogram::new(&SHORT_SPANS),
            append: Histogram::new(&SPANS),
            batch_events: Histogram::new(&COUNTS),
            begun: None,
        }
    }
}

impl Observer for Meters {
    fn asked(&mut self, _: Timestamp, _: Option<&Actor>, _: &Command, _: &Engine) {
        self.commands += 1;
        self.begun = (self.commands % TIMED_ONE_IN == 1).then(Instant::now);
    }

    fn handled(&mut self, handled: &Handled, _: &Engine) {
        self.refused += u64::from(handled.result.is_err());
        if let Some(begun) = self.begun.take() {
            let took = begun.elapsed().as_nanos();
            self.decision.observe(u64::try_from(took).unwrap_or(u64::MAX));
        }
    }

    fn duplicate(&mut self) {
        self.duplicates += 1;
    }

    fn late(&mut self, away: Micros) {
        self.late_rounds += 1;
        self.away += away;
        tracing::warn!(%away, "the scheduler was away; workers are heard before any is given up");
    }

    fn slow_journal(&mut self, took: Micros) {
        self.late_rounds += 1;
        self.away += took;
        tracing::warn!(%took, "the journal was slow; workers are heard before any is given up");
    }

    fn stepped(&mut self, from: WallAhead, to: WallAhead) {
        self.clock_steps += 1;
        let (was_ahead_us, is_ahead_us) = (from.0, to.0);
        tracing::warn!(was_ahead_us, is_ahead_us, "the wall clock was set; spans do not follow it");
    }
}

impl Meters {
    pub(crate) fn batch(&mut self, events: usize) {
        self.events += events as u64;
        self.batches += 1;
        self.batch_events.observe(events as u64);
    }

    pub(crate) fn round(&mut self, took: Duration) {
        self.round.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        self.round_max = self.round_max.max(took);
    }

    pub(crate) fn slice(&mut self, took: Duration) {
        self.slice_max = self.slice_max.max(took);
    }

    pub(crate) fn synced(&mut self, took: Duration) {
        self.append.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
}
