//! What tells this scheduler's events from those of others: a name that lives as long as its data.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "identity";

/// A URI, as `urn:uuid:...`. It is the `source` of published events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity(Arc<str>);

#[derive(Debug, thiserror::Error)]
#[error("failed to read or write {}: {source}", path.display())]
pub struct IdentityError {
    path: PathBuf,
    source: io::Error,
}

impl Identity {
    /// Reads it from the data directory, or makes one up if this is its first start.
    pub fn load(data_dir: &Path) -> Result<Identity, IdentityError> {
        let path = data_dir.join(FILE);
        let failed = |source| IdentityError { path: path.clone(), source };
        match std::fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => Ok(Identity(text.trim().into())),
            Ok(_) => Identity::create(&path).map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Identity::create(&path).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn create(path: &Path) -> io::Result<Identity> {
        let identity = format!("urn:uuid:{}", uuid::Uuid::new_v4());
        let draft = path.with_extension("new");
        std::fs::write(&draft, format!("{identity}\n"))?;
        std::fs::rename(&draft, path)?;
        Ok(Identity(identity.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
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
