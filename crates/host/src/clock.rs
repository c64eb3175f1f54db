//! The scheduler's own time, and what becomes of it when the machine does not keep to it.
//!
//! It begins at the wall clock, or where the journal ends if that is later, and from then on follows
//! the monotonic clock alone: nothing that happens to the wall clock reaches a span. How far the two
//! are apart is a fact of the journal, for the moments that people give and see.
//!
//! A driver comes back at least every [`PULSE`] while anybody may be given up. One that comes back
//! much later was stopped, suspended or overloaded, and what workers have sent meanwhile may not have
//! been read yet. So it listens for a moment before time passes for the engine, and after a longer
//! absence terms are counted anew. A journal that takes long is no different: nothing that was decided
//! has left meanwhile, so nobody can have answered it.

use bellwether_core::Command;
use bellwether_core::model::{Micros, Timestamp, WallAhead};

use crate::defect::Defect;
use crate::edge::{Edge, Observer};
use crate::host::Host;
use crate::mode::Mode;

/// The longest sleep of a driver while there is anything to wait for.
const PULSE: Micros = Micros(250_000);
/// A driver that comes back after this is late.
const LATE_AFTER: Micros = Micros(500_000);
/// The longest time that a late driver only listens.
const LISTEN_MAX: Micros = Micros(1_000_000);
/// The wall clock may be so far from where it is thought to be: it is slewed, and read at other
/// moments than the monotonic one.
const STEP_MIN: Micros = Micros(1_000_000);

/// What the clocks of the machine show at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Since some moment. It is never set, and goes on while the machine is suspended.
    pub monotonic: Micros,
    pub wall: Timestamp,
}

/// How the monotonic clock becomes the scheduler's time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Timeline {
    monotonic: Micros,
    began_at: Timestamp,
}

impl Timeline {
    /// `last` is the latest time in the journal.
    pub(crate) fn begin(reading: Reading, last: Timestamp) -> Timeline {
        Timeline { monotonic: reading.monotonic, began_at: reading.wall.max(last) }
    }

    fn at(self, reading: Reading) -> Timestamp {
        self.began_at + reading.monotonic.minus(self.monotonic)
    }
}

impl<E: Edge> Host<E> {
    /// A round begins: what comes next has come by now. To be called before anything else is
    /// handled in it.
    pub fn handle_time(&mut self, reading: Reading, observer: &mut impl Observer) {
        // Whoever had nothing to wait for was not awaited.
        let was_due = self.next_round().is_some();
        let now = self.time_at(reading);
        let away = now.since(std::mem::replace(&mut self.now, now));
        self.wall = reading.wall;
        // A reign begins with terms of its own, and with a look at the wall.
        if self.mode != Mode::Reigning {
            return;
        }
        if was_due && away > LATE_AFTER && !self.has(Defect::TakesAbsenceForSilence) {
            self.come_back(away, observer);
        }
        self.look_at_the_wall(observer);
    }

    /// Makes it a fact where the wall clock is, if that is not known.
    pub(crate) fn look_at_the_wall(&mut self, observer: &mut impl Observer) {
        let (known, ahead) = (self.state().wall_ahead(), WallAhead::between(self.now, self.wall));
        if ahead.distance(known) >= STEP_MIN {
            observer.stepped(known, ahead);
            self.command(Command::StepClock { ahead }, observer);
        }
    }

    /// The scheduler's time.
    pub fn time_at(&self, reading: Reading) -> Timestamp {
        if self.has(Defect::FollowsWallClock) {
            return self.now.max(reading.wall);
        }
        self.timeline.at(reading)
    }

    /// What was decided could not leave until now.
    pub(crate) fn come_back_from_the_journal(&mut self, observer: &mut impl Observer) {
        let waited = self.now.since(std::mem::replace(&mut self.unanswered_since, self.now));
        if waited > LATE_AFTER && !self.has(Defect::TakesAbsenceForSilence) {
            observer.slow_journal(waited);
            self.grant_time(waited, observer);
        }
    }

    fn come_back(&mut self, away: Micros, observer: &mut impl Observer) {
        observer.late(away);
        self.grant_time(away, observer);
    }

    fn grant_time(&mut self, away: Micros, observer: &mut impl Observer) {
        // What the journal took of an absence is not counted twice.
        self.unanswered_since = self.now;
        // One that is always late must not listen for ever.
        if self.listens_until <= self.listened_at {
            self.listens_until = self.now + away.min(LISTEN_MAX);
        }
        if away > self.state().config().away_after() {
            self.command(Command::ExtendTerms { by: away }, observer);
        }
    }

    /// Whether time passes for the engine now: something is due, and whoever could be given up has
    /// been listened to.
    pub(crate) fn is_tick_due(&mut self) -> bool {
        if self.listens_until > self.now || self.waits_long_for_the_journal() {
            return false;
        }
        self.listened_at = self.now;
        self.engine.next_deadline().is_some_and(|at| at <= self.now)
    }

    fn waits_long_for_the_journal(&self) -> bool {
        let is_late = self.now.since(self.unanswered_since) > LATE_AFTER;
        is_late && !self.in_flight.is_empty() && !self.has(Defect::TakesAbsenceForSilence)
    }

    /// When the driver must come back, as long as anything is to be waited for.
    pub(crate) fn next_round(&self) -> Option<Timestamp> {
        let deadline = self.engine.next_deadline()?;
        Some(deadline.max(self.listens_until).min(self.now + PULSE))
    }
}
