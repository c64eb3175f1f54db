//! The settings of the file that were applied last. They are applied again only once the file says
//! something else, so that what was changed while the scheduler ran survives a restart.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bellwether_core::model::Config;
use bellwether_wire::config::{config_from_wire, config_to_wire};
use bellwether_wire::v1;
use prost::Message as _;

pub(crate) const FILE: &str = "settings.applied";

#[derive(Debug)]
pub(crate) struct SettingsFile {
    path: PathBuf,
    /// None if none were ever applied, or nobody can tell which.
    applied: Option<Config>,
}

#[derive(Debug, thiserror::Error)]
#[error("failed to read or write {}: {source}", path.display())]
pub struct SettingsError {
    path: PathBuf,
    source: io::Error,
}

impl SettingsFile {
    pub(crate) fn open(data_dir: &Path) -> Result<SettingsFile, SettingsError> {
        let path = data_dir.join(FILE);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(SettingsFile { path, applied: read(&bytes) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(SettingsFile { path, applied: None })
            }
            Err(source) => Err(SettingsError { path, source }),
        }
    }

    /// Whether the file says something else than it did when it was last applied.
    pub(crate) fn differs_from(&self, config: &Config) -> bool {
        self.applied.as_ref() != Some(config)
    }

    pub(crate) fn holding(self, config: Config) -> SettingsFile {
        SettingsFile { applied: Some(config), ..self }
    }

    /// Durable when it returns.
    pub(crate) fn write(&self) -> Result<(), SettingsError> {
        let Some(config) = &self.applied else { return Ok(()) };
        let replace = || {
            let draft = self.path.with_extension("new");
            let mut file = File::create(&draft)?;
            file.write_all(&config_to_wire(config).encode_to_vec())?;
            file.sync_data()?;
            std::fs::rename(&draft, &self.path)
        };
        replace().map_err(|source| SettingsError { path: self.path.clone(), source })
    }
}

/// As with settings in the journal, a field that the file does not name has its default.
fn read(bytes: &[u8]) -> Option<Config> {
    let wire = v1::Config::decode(bytes).ok()?;
    config_from_wire(&wire).ok()
}
