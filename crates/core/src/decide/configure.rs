//! Live configuration, and pausing of types.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::index::timers::Timer;
use crate::model::{Config, Name};
use crate::rejection::Rejection;
use crate::state::State;

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
            let is_shorter = config.unreachable_after < self.state.config.unreachable_after;
            self.emit(Event::Configured { version, config: Box::new(config) });
            if is_shorter {
                self.shorten_terms();
            }
        }
        Ok(Answer::Done)
    }

    /// Timers were set for longer terms: what is open is looked at now.
    fn shorten_terms(&mut self) {
        let now = self.state.now;
        let State { workers, index, .. } = &mut self.state;
        for (no, worker) in workers.iter() {
            index.timers.set(now, Timer::Worker(no));
            for held in &worker.held {
                index.timers.set(now, Timer::Attempt(held.job, held.token));
            }
        }
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
