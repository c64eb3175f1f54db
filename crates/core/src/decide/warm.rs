//! History from elsewhere: a type that has none of its own is predicted from it.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::limits::SAMPLES_MAX;
use crate::model::{Name, Sample};
use crate::rejection::Rejection;

impl Engine {
    /// What a type has learned here counts more than what is remembered elsewhere, so a type with
    /// a history takes nothing. Of too many samples the latest are taken.
    pub(crate) fn warm(
        &mut self,
        kind: Name,
        mut samples: Vec<Sample>,
    ) -> Result<Answer, Rejection> {
        samples.retain(|sample| sample.started <= self.state.now);
        samples.sort_by_key(|sample| sample.started);
        samples.drain(..samples.len().saturating_sub(SAMPLES_MAX));
        if !samples.is_empty() && !self.state.statistics.has_history(&kind) {
            self.emit(Event::Warmed { kind, samples });
        }
        Ok(Answer::Done)
    }
}
