//! What tells this scheduler's events from those of others: a name that lives as long as its data.
//! Schedulers of one cluster share it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const FILE: &str = "identity";
/// The note that it is for the next leader.
pub(crate) const NOTE: &str = "identity";

/// A URI, as `urn:uuid:...`. It is the `source` of published events. That of a cluster is not known
/// before its first leader has made it up.
#[derive(Debug, Clone, Default)]
pub struct Identity(Arc<OnceLock<String>>);

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("failed to read or write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{} is damaged; restore it from a backup, or remove it: then events come from another source",
        path.display()
    )]
    Damaged { path: PathBuf },
}

impl Identity {
    /// Reads it from the data directory, or makes one up if this is its first start.
    pub fn load(data_dir: &Path) -> Result<Identity, IdentityError> {
        let path = data_dir.join(FILE);
        let failed = |source| IdentityError::Io { path: path.clone(), source };
        match std::fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => Ok(Identity::known(text.trim())),
            Ok(_) => Identity::create(&path).map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Identity::create(&path).map_err(failed)
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(IdentityError::Damaged { path })
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn create(path: &Path) -> io::Result<Identity> {
        let identity = Identity::make_up();
        let draft = path.with_extension("new");
        std::fs::write(&draft, format!("{identity}\n"))?;
        std::fs::rename(&draft, path)?;
        Ok(Identity::known(&identity))
    }

    pub(crate) fn make_up() -> String {
        format!("urn:uuid:{}", uuid::Uuid::new_v4())
    }

    fn known(text: &str) -> Identity {
        let identity = Identity::default();
        identity.learn(text);
        identity
    }

    /// It never changes once it is known.
    pub(crate) fn learn(&self, text: &str) {
        self.0.get_or_init(|| text.to_owned());
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Empty while it is not known.
    pub fn as_str(&self) -> &str {
        self.0.get().map_or("", String::as_str)
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        self.as_str() == other.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_the_same_for_the_same_data() {
        let dir = tempfile::tempdir().unwrap();
        let first = Identity::load(dir.path()).unwrap();
        assert!(first.as_str().starts_with("urn:uuid:"));
        assert_eq!(Identity::load(dir.path()).unwrap(), first);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Identity::load(other.path()).unwrap(), first);
    }
}
