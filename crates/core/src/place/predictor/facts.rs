//! Statistics as plain lists, to be written down and built from.

use super::statistics::Statistics;
use super::{CellKey, Durations, Slowness, TypeHistory};
use crate::model::{Config, Name};

/// Equal statistics give equal facts, in the same order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatisticsFacts {
    /// The name of number 1 comes first.
    pub names: Vec<Name>,
    pub cells: Vec<(CellKey, Durations)>,
    /// By the number of the type.
    pub types: Vec<(u32, TypeHistory)>,
    /// By the number of the machine.
    pub machines: Vec<(u32, Slowness)>,
    pub slowness_mean: f32,
    pub slowness_jobs: u32,
}

impl Statistics {
    /// How slow machines are on average, and of how many jobs that is known.
    pub fn slowness(&self) -> (f32, u32) {
        (self.speeds.mean, self.speeds.jobs)
    }

    pub fn facts(&self) -> StatisticsFacts {
        let mut cells: Vec<_> = self.cells.iter().map(|(key, cell)| (*key, *cell)).collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        let mut types: Vec<_> = self.kinds.iter().map(|(kind, known)| (*kind, *known)).collect();
        types.sort_unstable_by_key(|(kind, _)| *kind);
        let speeds = self.speeds.classes.iter();
        let mut machines: Vec<_> = speeds.map(|(machine, speed)| (*machine, *speed)).collect();
        machines.sort_unstable_by_key(|(machine, _)| *machine);
        StatisticsFacts {
            names: self.names.names.clone(),
            cells: cells.into_iter().map(|(key, cell)| (key.into(), cell)).collect(),
            types,
            machines,
            slowness_mean: self.speeds.mean,
            slowness_jobs: self.speeds.jobs,
        }
    }
}

impl StatisticsFacts {
    /// What is configured for types without a history follows from the configuration.
    pub fn into_statistics(self, config: &Config) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.names = self.names.into();
        statistics.cells = self.cells.into_iter().map(|(key, cell)| (key.into(), cell)).collect();
        statistics.kinds = self.types.into_iter().collect();
        statistics.speeds.classes = self.machines.into_iter().collect();
        statistics.speeds.mean = self.slowness_mean;
        statistics.speeds.jobs = self.slowness_jobs;
        statistics.set_defaults(config);
        statistics
    }
}
