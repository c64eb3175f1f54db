//! Passwords: given by a variable or a file, and never shown.

use std::fmt;
use std::path::PathBuf;

use super::LoadError;
use bellwether_wire::private::read_secret;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(secret: impl Into<String>) -> Secret {
        Secret(secret.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Keeper {
    Variable(String),
    File(PathBuf),
}

impl Keeper {
    pub(super) fn ask(&self, of: &'static str) -> Result<Secret, LoadError> {
        let (from, found) = match self {
            Keeper::Variable(name) => {
                (format!("the variable {name}"), std::env::var(name).map_err(|e| e.to_string()))
            }
            Keeper::File(path) => {
                (path.display().to_string(), read_secret(path).map_err(|error| error.to_string()))
            }
        };
        match found {
            Ok(secret) => Ok(Secret::new(secret.trim_end_matches(['\r', '\n']))),
            Err(reason) => Err(LoadError::Password { of, from, reason }),
        }
    }
}
