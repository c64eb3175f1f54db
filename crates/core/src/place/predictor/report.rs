//! What is predicted for each type, for those who ask.

use std::collections::BTreeMap;

use super::{Accuracy, Features, Prediction, predictor};
use crate::model::Name;
use crate::state::State;

#[derive(Debug, Clone, PartialEq)]
pub struct TypePrediction {
    pub kind: Name,
    /// For a job of no known sender or size, on average over workers.
    pub prediction: Prediction,
    pub accuracy: Accuracy,
    /// On workers of each class that is there.
    pub classes: BTreeMap<Name, Prediction>,
}

impl State {
    /// Of one type, or of the first `max` that were met; true if there are more.
    pub fn predictions(&self, kind: Option<&Name>, max: usize) -> (Vec<TypePrediction>, bool) {
        let statistics = &self.statistics;
        let mut kinds: Vec<u32> = match kind {
            Some(kind) => vec![statistics.lookup(kind)],
            None => statistics.kinds().take(max + 1).collect(),
        };
        let more = kinds.len() > max;
        kinds.truncate(max);
        let classes: BTreeMap<&Name, u32> =
            self.index.groups.iter().map(|group| (&group.key.machine, group.machine)).collect();
        let predictor = predictor(self.config.predictor);
        let known = kinds.into_iter().filter_map(|kind| {
            let features = Features { kind, ..Features::default() };
            let predict = |class| predictor.predict(statistics, &features, class).ok();
            let each = classes
                .iter()
                .filter_map(|(name, class)| Some(((*name).clone(), predict(Some(*class))?)));
            Some(TypePrediction {
                kind: statistics.name(kind)?.clone(),
                prediction: predict(None)?,
                accuracy: statistics.accuracy(kind).copied().unwrap_or_default(),
                classes: each.collect(),
            })
        });
        (known.collect(), more)
    }
}
