//! The default predictor: per type, the one that does better.

use super::{Features, Prediction, Predictor, PredictorError, Statistics};

/// Whichever of [`Ema`](super::Ema) and [`Hierarchical`](super::Hierarchical) has lately been
/// nearer for the type; the latter unless the former is clearly so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Auto;

impl Predictor for Auto {
    fn predict(
        &self,
        statistics: &Statistics,
        features: &Features,
        class: Option<u32>,
    ) -> Result<Prediction, PredictorError> {
        let prediction = if statistics.prefers_average(features.kind) {
            statistics.by_average(features.kind, class)
        } else {
            statistics.by_finest(features, class)
        };
        let unsure_percent = statistics.unsure_percent(features, class);
        Ok(Prediction { unsure_percent, ..prediction })
    }
}
