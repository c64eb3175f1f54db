//! Settings change because somebody wants them to, and for no other reason: not because a disk was
//! full, and not because another scheduler has taken over.

use bellwether_core::Event;
use bellwether_core::model::Config;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug)]
pub(crate) struct SettingsAreKept {
    wanted: Vec<Config>,
}

impl SettingsAreKept {
    /// The settings of the first start.
    pub(crate) fn new(config: &Config) -> SettingsAreKept {
        SettingsAreKept { wanted: vec![config.clone()] }
    }
}

impl Invariant for SettingsAreKept {
    fn name(&self) -> &'static str {
        "settings_are_kept"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Configuring { config } => self.wanted.push(Config::clone(config)),
            Observation::Committed { entry } => {
                if let Event::Configured { version, config } = &entry.event
                    && !self.wanted.contains(config)
                {
                    return Err(format!("nobody wants the settings of version {version}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
