//! Settings change because somebody wants them to, and for no other reason: not because a disk was
//! full, and not because another scheduler has taken over.

use bellwether_core::Event;
use bellwether_core::model::Config;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug)]
pub(crate) struct SettingsAreKept {
    wanted: Vec<Config>,
    /// Whether any have been written down.
    are_known: bool,
}

impl SettingsAreKept {
    /// The settings of the first start.
    pub(crate) fn new(config: &Config) -> SettingsAreKept {
        SettingsAreKept { wanted: vec![config.clone()], are_known: *config == Config::default() }
    }
}

impl Invariant for SettingsAreKept {
    fn name(&self) -> &'static str {
        "settings_are_kept"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Configuring { config } => self.wanted.push(Config::clone(config)),
            Observation::Committed { entry } => match &entry.event {
                Event::Configured { version, config } => {
                    self.are_known = true;
                    if !self.wanted.contains(config) {
                        return Err(format!("nobody wants the settings of version {version}"));
                    }
                }
                Event::Submitted { .. } if !self.are_known => {
                    return Err("jobs are taken before the settings of the first start".to_owned());
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}
