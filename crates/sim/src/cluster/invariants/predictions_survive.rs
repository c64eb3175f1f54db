//! A new leader predicts from everything that was learnt before.

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct PredictionsSurvive;

impl Invariant for PredictionsSurvive {
    fn name(&self) -> &'static str {
        "predictions_survive"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let Observation::Among(Sight::Reigns { member, engine, .. }) = seen else {
            return Ok(());
        };
        let (known, learnt) = (engine.state().statistics(), view.follower.state().statistics());
        let names = learnt.kinds().filter_map(|kind| learnt.name(kind));
        let mut forgotten =
            names.filter(|name| learnt.has_history(name) && !known.has_history(name));
        match forgotten.next() {
            Some(name) => Err(format!("member {member} reigns and knows nothing of {name}")),
            None => Ok(()),
        }
    }
}
