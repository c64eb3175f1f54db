//! The better predictor: the finest history there is.

use super::{Features, Prediction, Predictor, PredictorError, Statistics};

/// Reads the history of the same type, sender, cpu, size and worker class; where there is none,
/// that of coarser keys. A class that has not run such jobs is predicted from those that have,
/// scaled by how fast the classes are in general.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hierarchical;

impl Predictor for Hierarchical {
    fn predict(
        &self,
        statistics: &Statistics,
        features: &Features,
        class: Option<u32>,
    ) -> Result<Prediction, PredictorError> {
        let unsure_percent = statistics.unsure_percent(features, class);
        Ok(Prediction { unsure_percent, ..statistics.by_finest(features, class) })
    }
}
