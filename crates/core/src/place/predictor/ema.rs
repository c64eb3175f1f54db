//! The plain predictor: one moving average per type.

use super::{Features, Prediction, Predictor, PredictorError, Statistics};

/// An exponential moving average per type, alpha 0.3, blind to anything else. A type that has not
/// been seen takes its configured default, or `duration_default`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ema;

impl Predictor for Ema {
    fn predict(
        &self,
        statistics: &Statistics,
        features: &Features,
        _class: Option<u32>,
    ) -> Result<Prediction, PredictorError> {
        Ok(statistics.by_type(features.kind))
    }
}
