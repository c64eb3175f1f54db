//! A predictor that fails now and then.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bellwether_core::place::predictor::{
    Features, Prediction, Predictor, PredictorError, Statistics,
};

use super::random::Random;

/// How often it fails, and how often it has; shared with the world that stirs it.
#[derive(Debug, Default)]
pub(crate) struct Mood {
    pub fails_permille: AtomicU32,
    pub failures: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Flaky {
    inner: Box<dyn Predictor>,
    mood: Arc<Mood>,
    random: RefCell<Random>,
}

impl Flaky {
    pub(crate) fn new(inner: Box<dyn Predictor>, mood: Arc<Mood>, seed: u64) -> Flaky {
        Flaky { inner, mood, random: RefCell::new(Random::new(seed)) }
    }
}

impl Predictor for Flaky {
    fn predict(
        &self,
        statistics: &Statistics,
        features: &Features,
        class: Option<u32>,
    ) -> Result<Prediction, PredictorError> {
        let permille = self.mood.fails_permille.load(Ordering::Relaxed);
        if self.random.borrow_mut().chance(permille) {
            self.mood.failures.fetch_add(1, Ordering::Relaxed);
            return Err(PredictorError::Unavailable("it was told to fail".to_owned()));
        }
        self.inner.predict(statistics, features, class)
    }
}
