//! What finished jobs have taught.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, confidence_percent, error};
use super::drift::{Accuracy, Drift};
use super::interner::Interner;
use super::key::{Key, Level};
use super::speed::Speeds;
use super::{Features, Prediction, size_bucket};
use crate::model::limits::PREDICTION_KEYS_MAX;
use crate::model::{Config, JobSpec, Micros, Name};

/// The weight of the newest job in the moving average of its type.
const ALPHA: f32 = 0.3;
/// Jobs that the choice between predictors looks back over.
const RIVALRY: u32 = 16;
/// No job is taken to be longer: 30 years keep every sum of durations far from overflow.
const DURATION_MAX: Micros = Micros::from_secs(1_000_000_000);

/// All history that predictions are made of. Part of the state: equal histories are equal
/// statistics, and equal statistics serialize to equal bytes.
///
/// Bounded: at most [`PREDICTION_KEYS_MAX`] combinations of features are told apart. After that
/// known combinations go on learning and new ones are predicted from coarser keys; what is known
/// per type is bounded by the number of interned names and always kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Statistics {
    names: Interner,
    cells: HashMap<Key, Cell, FxBuildHasher>,
    kinds: HashMap<u32, Kind, FxBuildHasher>,
    speeds: Speeds,
    duration_default: Micros,
    drift_percent: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Kind {
    samples: u32,
    /// The moving average.
    average: f32,
    average_error: f32,
    finest_error: f32,
    configured: Option<Micros>,
    accuracy: Accuracy,
    /// The classes that last ran it, the latest first; they differ once two did.
    classes: (u32, u32),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    names: Interner,
    cells: Vec<(Key, Cell)>,
    kinds: Vec<(u32, Kind)>,
    speeds: Speeds,
    duration_default: Micros,
    drift_percent: u32,
}

impl Default for Statistics {
    fn default() -> Statistics {
        let mut statistics = Statistics {
            names: Interner::default(),
            cells: HashMap::default(),
            kinds: HashMap::default(),
            speeds: Speeds::default(),
            duration_default: Micros::ZERO,
            drift_percent: 0,
        };
        statistics.set_defaults(&Config::default());
        statistics
    }
}

impl Statistics {
    /// The number of a name, given to it now if it has none. 0 is everything else: once
    /// [`INTERNED_MAX`](crate::model::limits::INTERNED_MAX) names have numbers, all others share it.
    pub fn intern(&mut self, name: &Name) -> u32 {
        self.names.intern(name)
    }

    /// The number of a name; 0 if it has none.
    pub fn lookup(&self, name: &Name) -> u32 {
        self.names.lookup(name)
    }

    /// The name of a number; none for 0.
    pub fn name(&self, number: u32) -> Option<&Name> {
        self.names.name(number)
    }

    /// What is known of a job. Names not interned are everything else, so a job's type and sender
    /// must be interned before it is observed.
    pub fn features(&self, spec: &JobSpec) -> Features {
        Features {
            kind: self.lookup(spec.kind()),
            sender: spec.sender.as_ref().map_or(0, |sender| self.lookup(sender)),
            size_bucket: size_bucket(spec.input_bytes),
            cpu: spec.requirements.resources.cpu,
        }
    }

    /// Takes over what the configuration says of types that have no history.
    pub fn set_defaults(&mut self, config: &Config) {
        self.duration_default = config.duration_default;
        self.drift_percent = config.drift_percent;
        for kind in self.kinds.values_mut() {
            kind.configured = None;
        }
        for (name, duration) in &config.duration_by_type {
            let number = self.intern(name);
            self.kinds.entry(number).or_default().configured = Some(*duration);
        }
    }

    /// How good the predictions of a type have been; none if no job of it has finished.
    pub fn accuracy(&self, kind: u32) -> Option<&Accuracy> {
        self.kinds.get(&kind).map(|kind| &kind.accuracy).filter(|accuracy| accuracy.samples() > 0)
    }

    /// A job finished: it took `actual` on a worker of `class`, and `predicted` was what it had
    /// been placed by. Tells if the predictions of its type have begun to drift.
    pub fn observe(
        &mut self,
        features: &Features,
        class: u32,
        actual: Micros,
        predicted: Micros,
    ) -> Option<Drift> {
        let actual = actual.clamp(Micros(1), DURATION_MAX);
        let duration = actual.0 as f32;
        let finest = self.by_finest(features, Some(class));
        self.compare_classes(features, class, duration);
        self.speeds.ran_on(class);
        let typical = duration / self.speeds.slowness(class);
        for level in Level::ALL {
            self.learn(Key::new(level, features, Some(class)), duration);
            self.learn(Key::new(level, features, None), typical);
        }

        let kind = self.kinds.entry(features.kind).or_default();
        kind.observe(duration, finest.estimate);
        if kind.classes.0 != class {
            kind.classes = (class, kind.classes.0);
        }
        kind.accuracy
            .observe(predicted, actual, self.drift_percent)
            .then(|| kind.accuracy.drift(features.kind))
    }

    /// The moving average of a type.
    pub(super) fn by_type(&self, kind: u32) -> Prediction {
        match self.kinds.get(&kind) {
            Some(kind) if kind.samples > 0 => Prediction {
                estimate: micros(kind.average),
                confidence_percent: confidence_percent(kind.samples, kind.average_error),
                samples: kind.samples,
            },
            Some(Kind { configured: Some(duration), .. }) => unknown(*duration),
            _ => unknown(self.duration_default),
        }
    }

    /// The estimate of the finest key that has a history.
    pub(super) fn by_finest(&self, features: &Features, class: Option<u32>) -> Prediction {
        let scale = class.map_or(self.speeds.mean(), |class| self.speeds.slowness(class));
        for level in Level::ALL {
            if class.is_some()
                && let Some(cell) = self.cells.get(&Key::new(level, features, class))
            {
                return known(cell, 1.0);
            }
            if let Some(cell) = self.cells.get(&Key::new(level, features, None)) {
                return known(cell, scale);
            }
        }
        let typical = self.by_type(features.kind);
        let scale = scale / self.speeds.mean();
        Prediction { estimate: micros(typical.estimate.0 as f32 * scale), ..typical }
    }

    /// Whether the moving average has lately been nearer for this type than the finest key.
    pub(super) fn prefers_average(&self, kind: u32) -> bool {
        self.kinds.get(&kind).is_some_and(|kind| kind.average_error < kind.finest_error)
    }

    fn learn(&mut self, key: Key, duration: f32) {
        let full = self.cells.len() >= PREDICTION_KEYS_MAX;
        if let Some(cell) = self.cells.get_mut(&key) {
            cell.observe(duration);
        } else if !full {
            self.cells.insert(key, Cell::new(duration));
        }
    }

    /// Learns how fast the class is from what other classes took for the same.
    fn compare_classes(&mut self, features: &Features, class: u32, duration: f32) {
        let Some(kind) = self.kinds.get(&features.kind) else { return };
        let other = if kind.classes.0 == class { kind.classes.1 } else { kind.classes.0 };
        if other == class {
            return;
        }
        let Some(theirs) = self.cells.get(&Key::new(Level::Size, features, Some(other))) else {
            return;
        };
        self.speeds.compare(class, other, duration / theirs.estimate());
    }
}

impl Kind {
    fn observe(&mut self, duration: f32, finest: Micros) {
        if self.samples == 0 {
            self.average = duration;
        } else {
            let weight = 1.0 / self.samples.min(RIVALRY) as f32;
            self.average_error += (error(self.average, duration) - self.average_error) * weight;
            self.finest_error += (error(finest.0 as f32, duration) - self.finest_error) * weight;
            self.average += ALPHA * (duration - self.average);
        }
        self.samples = self.samples.saturating_add(1);
    }
}

fn known(cell: &Cell, scale: f32) -> Prediction {
    Prediction {
        estimate: micros(cell.estimate() * scale),
        confidence_percent: cell.confidence_percent(),
        samples: cell.samples(),
    }
}

fn unknown(estimate: Micros) -> Prediction {
    Prediction { estimate, confidence_percent: 0, samples: 0 }
}

/// Never nothing: a job takes some time, and ratios of durations stay finite.
fn micros(duration: f32) -> Micros {
    Micros((duration as u64).max(1))
}

impl From<Stored> for Statistics {
    fn from(stored: Stored) -> Statistics {
        Statistics {
            names: stored.names,
            cells: stored.cells.into_iter().collect(),
            kinds: stored.kinds.into_iter().collect(),
            speeds: stored.speeds,
            duration_default: stored.duration_default,
            drift_percent: stored.drift_percent,
        }
    }
}

impl From<Statistics> for Stored {
    fn from(statistics: Statistics) -> Stored {
        let mut cells: Vec<_> = statistics.cells.into_iter().collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        let mut kinds: Vec<_> = statistics.kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|(kind, _)| *kind);
        Stored {
            names: statistics.names,
            cells,
            kinds,
            speeds: statistics.speeds,
            duration_default: statistics.duration_default,
            drift_percent: statistics.drift_percent,
        }
    }
}
