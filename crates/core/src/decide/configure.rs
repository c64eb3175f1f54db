//! Live configuration, and pausing of types.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{Config, Name};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn configure(
        &mut self,
        config: Config,
        expected_version: Option<u64>,
    ) -> Result<Answer, Rejection> {
        let version = self.state.config_version;
        if let Some(expected) = expected_version.filter(|expected| *expected != version) {
            return Err(Rejection::ConfigChanged { version, expected });
        }
        config.validate()?;
        if config != self.state.config {
            let version = version + 1;
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
