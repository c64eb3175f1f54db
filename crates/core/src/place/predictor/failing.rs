//! The predictor of game days: it fails, so that people see what happens then.

use super::{Features, Prediction, Predictor, PredictorError, Statistics};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failing;

impl Predictor for Failing {
    fn predict(
        &self,
        _statistics: &Statistics,
        _features: &Features,
        _class: Option<u32>,
    ) -> Result<Prediction, PredictorError> {
        Err(PredictorError::Unavailable("it is configured to fail".to_owned()))
    }
}
