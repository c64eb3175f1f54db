//! Settings change because somebody wants them to; the local file counts once.

use bellwether_core::Event;
use bellwether_core::model::Config;

use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug)]
pub(crate) struct SettingsSurvive {
    file: Config,
    /// Those that somebody has wished for.
    wanted: Vec<Config>,
    /// Whether the file has been applied.
    is_seeded: bool,
}

impl SettingsSurvive {
    pub(crate) fn new(file: &Config) -> SettingsSurvive {
        SettingsSurvive { file: file.clone(), wanted: Vec::new(), is_seeded: false }
    }
}

impl Invariant for SettingsSurvive {
    fn name(&self) -> &'static str {
        "settings_survive"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Configuring { config } => self.wanted.push(Config::clone(config)),
            Observation::Committed { entry } => {
                if let Event::Configured { version, config } = &entry.event {
                    let is_first = **config == self.file && !self.is_seeded;
                    self.is_seeded = true;
                    if !is_first && !self.wanted.contains(config) {
                        return Err(format!("nobody wants the settings of version {version}"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
