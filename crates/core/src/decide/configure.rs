//! Live configuration, and pausing of types.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{Config, Name};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn configure(&mut self, config: Config) -> Result<Answer, Rejection> {
        config.validate()?;
        if config != self.state.config {
            let version = self.state.config_version + 1;
            self.emit(Event::Configured { version, config: Box::new(config) });
        }
        Ok(Answer::Done)
    }

    pub(crate) fn pause(&mut self, kind: Name) -> Result<Answer, Rejection> {
        if !self.state.paused.contains(&kind) {
            self.emit(Event::Paused { kind });
        }
        Ok(Answer::Done)
    }

    pub(crate) fn unpause(&mut self, kind: Name) -> Result<Answer, Rejection> {
        if self.state.paused.contains(&kind) {
            self.emit(Event::Unpaused { kind });
        }
        Ok(Answer::Done)
    }
}
