//! What finished jobs have taught.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::cell::{Belief, Durations};
use super::choice::Choice;
use super::drift::{Accuracy, Drift};
use super::interner::Interner;
use super::key::{Key, Level};
use super::kind::TypeHistory;
use super::speed::Speeds;
use super::{Features, Prediction, size_bucket};
use crate::model::limits::PREDICTION_KEYS_MAX;
use crate::model::{Config, JobSpec, Micros, Name, Sample, Timestamp};
use crate::place::pace::Level as PaceLevel;

/// No job is taken to be longer: 30 years keep every sum of durations far from overflow.
const DURATION_MAX: Micros = Micros::from_secs(1_000_000_000);

/// Jobs that a key must have seen, and the error that it may have, to judge a worker by.
const RELIABLE_SAMPLES: u32 = 4;
const RELIABLE_ERROR: f32 = 0.35;

/// All history that predictions are made of. Part of the state: equal histories are equal
/// statistics.
///
/// Bounded: at most [`PREDICTION_KEYS_MAX`] combinations of features are told apart. After that
/// known combinations go on learning and new ones are predicted from coarser keys; what is known
/// per type is bounded by the number of interned names and always kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    pub(super) names: Interner,
    pub(super) cells: HashMap<Key, Durations, FxBuildHasher>,
    pub(super) kinds: HashMap<u32, TypeHistory, FxBuildHasher>,
    pub(super) speeds: Speeds,
    duration_default: Micros,
    drift_percent: u32,
}

/// What a finished job teaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    pub features: Features,
    /// Of the worker that ran it.
    pub class: u32,
    pub started: Timestamp,
    pub actual: Micros,
    /// What it had been placed by.
    pub predicted: Micros,
    /// Of the worker among its class.
    pub pace: PaceLevel,
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

    /// The types that something is known of, in the order in which they were met.
    pub fn kinds(&self) -> impl Iterator<Item = u32> {
        self.names.numbers().filter(|number| self.kinds.contains_key(number))
    }

    /// What is known of a job. Names not interned are everything else, so a job's type and sender
    /// must be interned before it is observed.
    pub fn features(&self, spec: &JobSpec) -> Features {
        Features {
            kind: self.lookup(spec.kind()),
            sender: spec.sender.as_ref().map_or(0, |sender| self.lookup(sender)),
            size_bucket: size_bucket(spec.input_bytes()),
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

    /// Whether a job of this type has finished, here or in what others remember.
    pub fn has_history(&self, kind: &Name) -> bool {
        let number = self.lookup(kind);
        number > 0 && self.kinds.get(&number).is_some_and(|kind| kind.average().is_some())
    }

    /// Learns from jobs of a type that others remember. How good predictions are is not judged by
    /// them, because none was made.
    pub(crate) fn warm(&mut self, kind: &Name, samples: &[Sample]) {
        let kind = self.intern(kind);
        // Past the bound types share one number, and each other's history is none.
        if kind == 0 {
            return;
        }
        for sample in samples {
            let features = Features {
                kind,
                sender: sample.sender.as_ref().map_or(0, |sender| self.intern(sender)),
                size_bucket: size_bucket(sample.input_bytes),
                cpu: sample.cpu,
            };
            let class = self.intern(&sample.class);
            let (started, actual) = (sample.started, sample.took);
            let pace = PaceLevel::default();
            let predicted = actual;
            self.learn_from(&Observation { features, class, started, actual, predicted, pace });
        }
    }

    /// Workers of this class measure themselves to be so fast; what they show in practice counts more.
    pub(crate) fn calibrate(&mut self, class: u32, speed_permille: u32) {
        self.speeds.calibrate(class, 1_000.0 / speed_permille.max(1) as f32);
    }

    /// How many times as long the job took as its class takes for such jobs; none where that is not
    /// known well enough to judge a worker by.
    pub(crate) fn surprise(&self, features: &Features, class: u32, actual: Micros) -> Option<f32> {
        let usual = self.known(Key::new(Level::Size, features, Some(class)))?;
        let reliable = usual.samples >= RELIABLE_SAMPLES && usual.error <= RELIABLE_ERROR;
        reliable.then(|| actual.0.max(1) as f32 / usual.estimate)
    }

    /// A job finished. Tells if the predictions of its type have begun to drift.
    pub fn observe(&mut self, observation: &Observation) -> Option<Drift> {
        let actual = self.learn_from(observation);
        let kind = self.kinds.entry(observation.features.kind).or_default();
        kind.accuracy
            .observe(observation.predicted, actual, self.drift_percent)
            .then(|| kind.accuracy.drift(observation.features.kind))
    }

    /// Adds a duration to all that it teaches, and gives it back within bounds.
    fn learn_from(&mut self, observation: &Observation) -> Micros {
        let Observation { features, class, started, .. } = observation;
        let actual = observation.actual.clamp(Micros(1), DURATION_MAX);
        // What the worker takes longer than its class is its own, and not the class's.
        let duration = observation.pace.usual(actual).0 as f32;
        self.compare_classes(features, *class, duration);
        let mean = self.speeds.mean();
        self.speeds.ran_on(*class);
        let slowness = self.speeds.slowness(*class);
        let typical = duration / slowness;

        let mut choice = Choice::default();
        for level in Level::ALL {
            let key = Key::new(level, features, Some(*class));
            choice.consider(self.learn(key, duration, *started), 1.0);
            let key = Key::new(level, features, None);
            choice.consider(self.learn(key, typical, *started), slowness);
        }
        let kind = self.kinds.entry(features.kind).or_default();
        choice.consider(kind.typical(), slowness);
        let finest = choice.best().map(|belief| belief.estimate);
        kind.observe(observation, duration, typical, finest, slowness / mean);
        actual
    }

    /// The moving average of a type.
    pub(super) fn by_type(&self, kind: u32) -> Prediction {
        let kind = self.kinds.get(&kind);
        if let Some(belief) = kind.and_then(TypeHistory::average) {
            return prediction(belief);
        }
        let configured = kind.and_then(|kind| kind.configured);
        Prediction {
            estimate: configured.unwrap_or(self.duration_default),
            confidence_percent: 0,
            samples: 0,
            unsure_percent: 0,
        }
    }

    /// The moving average of a type, on a machine of this class.
    pub(super) fn by_average(&self, kind: u32, class: Option<u32>) -> Prediction {
        let average = self.by_type(kind);
        let slowness = class.map_or(self.speeds.mean(), |class| self.speeds.slowness(class));
        let estimate = average.estimate.0 as f32 * (slowness / self.speeds.mean());
        Prediction { estimate: micros(estimate), ..average }
    }

    /// How much shorter than predicted the job may prove to be on this class, in hundredths.
    pub(super) fn unsure_percent(&self, features: &Features, class: Option<u32>) -> u8 {
        let Some(class) = class else { return 0 };
        if self.cells.contains_key(&Key::new(Level::Size, features, Some(class))) {
            return 0;
        }
        self.speeds.unsure_percent(class)
    }

    /// The estimate of the finest key that has a history, unless that of a coarser one has proved
    /// clearly better.
    pub(super) fn by_finest(&self, features: &Features, class: Option<u32>) -> Prediction {
        let scale = class.map_or(self.speeds.mean(), |class| self.speeds.slowness(class));
        let mut choice = Choice::default();
        for level in Level::ALL {
            if class.is_some() {
                choice.consider(self.known(Key::new(level, features, class)), 1.0);
            }
            choice.consider(self.known(Key::new(level, features, None)), scale);
        }
        choice.consider(self.kinds.get(&features.kind).and_then(TypeHistory::typical), scale);
        match choice.best() {
            Some(belief) => prediction(belief),
            None => self.by_average(features.kind, class),
        }
    }

    /// Whether the moving average has lately been nearer for this type than the finest key.
    pub(super) fn prefers_average(&self, kind: u32) -> bool {
        self.kinds.get(&kind).is_some_and(TypeHistory::prefers_average)
    }

    fn known(&self, key: Key) -> Option<Belief> {
        self.cells.get(&key).map(Durations::belief)
    }

    /// Adds a duration to a key, if there is one or room for it. Returns what was known before.
    fn learn(&mut self, key: Key, duration: f32, started: Timestamp) -> Option<Belief> {
        if let Some(cell) = self.cells.get_mut(&key) {
            let before = cell.belief();
            cell.observe(duration, started);
            return Some(before);
        }
        if self.cells.len() < PREDICTION_KEYS_MAX {
            self.cells.insert(key, Durations::new(duration, started));
        }
        None
    }

    /// Learns how fast the class is from what another class took for the same.
    fn compare_classes(&mut self, features: &Features, class: u32, duration: f32) {
        let Some(other) = self.kinds.get(&features.kind).and_then(|kind| kind.other_class(class))
        else {
            return;
        };
        if let Some(theirs) = self.known(Key::new(Level::Size, features, Some(other))) {
            self.speeds.compare(class, other, duration / theirs.estimate);
        }
    }
}

fn prediction(belief: Belief) -> Prediction {
    Prediction {
        estimate: micros(belief.estimate),
        confidence_percent: belief.confidence_percent(),
        samples: belief.samples,
        unsure_percent: 0,
    }
}

/// Never nothing: a job takes some time, and ratios of durations stay finite.
fn micros(duration: f32) -> Micros {
    Micros(((duration + 0.5) as u64).max(1))
}

#[cfg(test)]
mod tests;
