//! When an offer counts as quiet, and how many second offers may be made.

use std::collections::BTreeMap;

use crate::model::{Config, Micros, Timestamp};
use crate::state::{Job, State};

/// Hedges allowed before any budget has been earned, so that small fleets are covered too.
const BURST: u64 = 2;
/// Acknowledgements of a type before its own timeout is used.
const SAMPLES_MIN: u32 = 5;
/// Types whose acknowledgements are told apart.
const TYPES_MAX: usize = 10_000;
/// Times that the patience with an offer doubles; by then it has expired.
const DOUBLINGS_MAX: u32 = 10;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hedging {
    pub by_type: BTreeMap<u32, AckTimes>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckTimes {
    pub samples: u32,
    pub mean: u64,
    pub deviation: u64,
}

impl State {
    /// When an offer has not been answered in time, so that it may be taken back. Workers of a type
    /// that usually answer at once are hedged sooner, but not held to it; and each time that a job
    /// comes back the next worker has twice as long, so that it starts even where all are slow.
    pub fn overdue_at(&self, job: &Job, since: Timestamp, quiet_at: Timestamp) -> Timestamp {
        let patience = self.config.hedge_after.times(1 << job.counts.returns.min(DOUBLINGS_MAX));
        quiet_at.max(since + patience)
    }
}

impl Hedging {
    /// How long an offer of this type may stay unacknowledged: the mean and four deviations of
    /// what was seen, within bounds.
    pub fn quiet_after(&self, kind: u32, config: &Config) -> Micros {
        match self.by_type.get(&kind) {
            Some(times) if times.samples >= SAMPLES_MIN => {
                let usual = times.mean.saturating_add(times.deviation.saturating_mul(4));
                let most = config.hedge_after.0.saturating_mul(10);
                Micros(usual.clamp(config.hedge_after_min.0, most))
            }
            _ => config.hedge_after,
        }
    }

    pub fn observe(&mut self, kind: u32, took: Micros) {
        if self.by_type.len() >= TYPES_MAX && !self.by_type.contains_key(&kind) {
            return;
        }
        let times = self.by_type.entry(kind).or_default();
        if times.samples == 0 {
            *times = AckTimes { samples: 1, mean: took.0, deviation: took.0 / 2 };
            return;
        }
        let error = took.0.abs_diff(times.mean);
        times.samples = times.samples.saturating_add(1);
        times.deviation = times.deviation - times.deviation / 4 + error / 4;
        times.mean = times.mean - times.mean / 8 + took.0 / 8;
    }

    /// The most hedges that so many offers allow.
    pub fn allowance(&self, config: &Config, offers: u64) -> u64 {
        let earned = offers.saturating_mul(u64::from(config.hedge_budget_permille)) / 1_000;
        if config.hedge_budget_permille == 0 { 0 } else { earned + BURST }
    }
}
