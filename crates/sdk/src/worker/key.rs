//! The key that a worker proves itself with: a file of its user, made when it is first needed.

use std::path::{Path, PathBuf};

use bellwether_wire::signing::Secret;
pub use bellwether_wire::signing::key_file::{KeyFileError, generate, load, load_or_make, replace};

/// Names the file, for those who have no home.
const KEY_VARIABLE: &str = "BELLWETHER_WORKER_KEY";

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(transparent)]
    File(#[from] KeyFileError),
    #[error("nobody knows where the worker's key is: set {KEY_VARIABLE} or HOME, or name its file")]
    NoHome,
}

/// Where a worker has its key from.
#[derive(Debug, Clone)]
pub(crate) enum KeySource {
    /// Read anew for every connection: it may have been rotated.
    File(PathBuf),
    Given(Secret),
    /// It comes without one.
    None,
}

impl KeySource {
    pub(crate) fn load(&self) -> Result<Option<Secret>, KeyError> {
        match self {
            KeySource::File(path) => Ok(Some(load_or_make(path)?)),
            KeySource::Given(secret) => Ok(Some(secret.clone())),
            KeySource::None => Ok(None),
        }
    }
}

/// The key file of this user.
pub fn default_key_file() -> Result<PathBuf, KeyError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = set(KEY_VARIABLE) {
        return Ok(PathBuf::from(path));
    }
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| set("HOME").map(|home| Path::new(&home).join(".local/state")));
    Ok(state.ok_or(KeyError::NoHome)?.join("bellwether/worker.key"))
}
