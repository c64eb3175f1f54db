//! What every part of the simulation acts on: time, chance, the agenda, and the court that watches.

use std::collections::BTreeMap;

use bellwether_core::model::Handoff;

use super::agenda::Agenda;
use super::court::{Court, Observation};
use super::due::Due;
use super::random::Random;
use super::stamps::Stamp;
use super::weather::Weather;

/// Delay of a message on a healthy network, in microseconds.
const TRANSIT_MIN: u64 = 100;
const TRANSIT_MAX: u64 = 3_000;

/// A shorter absence of the scheduler need not be noticed, in microseconds: half a heartbeat.
pub(crate) const ABSENCE_MIN: u64 = 1_000_000;

#[derive(Debug)]
pub(crate) struct Stage {
    /// Virtual time in microseconds.
    pub now: u64,
    pub step: u64,
    pub random: Random,
    pub weather: Weather,
    pub court: Court,
    /// Workers that no message reaches or leaves.
    pub cut: Vec<bool>,
    /// Handoffs that somebody listened to.
    pub overheard: Vec<Handoff>,
    agenda: Agenda<Due>,
    faults: BTreeMap<&'static str, u64>,
    log: Option<Vec<String>>,
    /// Since when no scheduler listens, and for how long none did before.
    deaf_since: Option<u64>,
    deaf: u64,
    /// Per destination: the latest arrival promised, to count what overtakes what.
    promised: BTreeMap<Place, u64>,
}

/// One end of a message's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Scheduler,
    Worker(usize),
    Clients,
}

impl Stage {
    pub(crate) fn new(random: Random, weather: Weather, court: Court, workers: usize) -> Stage {
        Stage {
            now: 0,
            step: 0,
            random,
            weather,
            court,
            cut: vec![false; workers],
            overheard: Vec::new(),
            agenda: Agenda::default(),
            faults: BTreeMap::new(),
            log: None,
            deaf_since: Some(0),
            deaf: 0,
            promised: BTreeMap::new(),
        }
    }

    /// The scheduler is gone, or stopped.
    pub(crate) fn fall_deaf(&mut self) {
        self.deaf_since.get_or_insert(self.now);
    }

    /// The scheduler listens, as if it had all the time if it was away only for a moment.
    pub(crate) fn hear_again(&mut self) {
        let away = self.deaf_since.take().map_or(0, |since| self.now - since);
        if away >= ABSENCE_MIN {
            self.deaf += away;
        }
    }

    pub(crate) fn stamp(&self) -> Stamp {
        let deaf = self.deaf + self.deaf_since.map_or(0, |since| self.now - since);
        Stamp { time: self.now, listened: self.now - deaf }
    }

    pub(crate) fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    pub(crate) fn take_log(&mut self) -> Vec<String> {
        self.log.take().unwrap_or_default()
    }

    pub(crate) fn take_faults(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.faults)
    }

    /// Moves to the next due.
    pub(crate) fn advance(&mut self) -> Option<Due> {
        let (at, due) = self.agenda.next()?;
        self.now = self.now.max(at);
        self.step += 1;
        Some(due)
    }

    pub(crate) fn after(&mut self, delay: u64, due: Due) {
        self.agenda.add(self.now + delay, due);
    }

    pub(crate) fn count(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    /// Writes a line if somebody reads along; the text is made only then.
    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let seconds = self.now / 1_000_000;
            let micros = self.now % 1_000_000;
            log.push(format!("{:>6} {seconds:>5}.{micros:06} {}", self.step, text()));
        }
    }

    pub(crate) fn see(&mut self, seen: Observation<'_>) {
        self.court.see(&seen);
    }

    /// A draw for something that is rarer than one in a thousand.
    pub(crate) fn rare(&mut self, per_hundred_thousand: u32) -> bool {
        per_hundred_thousand > 0 && self.random.below(100_000) < u64::from(per_hundred_thousand)
    }

    /// Puts a message on its way: it may be lost, late, doubled, and overtaken.
    pub(crate) fn send(&mut self, from: Place, to: Place, due: Due) {
        let partitioned = [from, to].iter().any(|place| match place {
            Place::Worker(worker) => self.cut[*worker],
            Place::Scheduler | Place::Clients => false,
        });
        if partitioned {
            self.count("message_cut_off");
            return;
        }
        if self.random.chance(self.weather.lose) {
            self.count("message_lost");
            return;
        }
        if self.random.chance(self.weather.duplicate) {
            self.count("message_duplicated");
            let delay = self.transit();
            self.arrives(to, delay, due.clone());
        }
        let delay = self.transit();
        self.arrives(to, delay, due);
    }

    fn arrives(&mut self, to: Place, delay: u64, due: Due) {
        let at = self.now + delay;
        let latest = self.promised.entry(to).or_default();
        let overtakes = at < *latest;
        *latest = at.max(*latest);
        if overtakes {
            self.count("message_reordered");
        }
        self.agenda.add(at, due);
    }

    fn transit(&mut self) -> u64 {
        let delay = self.random.between(TRANSIT_MIN, TRANSIT_MAX);
        if !self.random.chance(self.weather.delay) {
            return delay;
        }
        self.count("message_late");
        delay + self.random.skewed(10_000, self.weather.delay_max.max(10_000))
    }
}
