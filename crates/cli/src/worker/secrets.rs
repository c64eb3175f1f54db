//! Secrets that the operator of this worker lets commands have. Jobs name them; what they are never
//! leaves the worker.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The longest file that a secret is read from.
const BYTES_MAX: u64 = 64 << 10;
/// What is shown instead of a secret.
const MASK: &[u8] = b"***";
/// Shorter ones are not looked for in output: they would be found everywhere.
const MASKED_BYTES_MIN: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Variable(String),
    File(PathBuf),
}

/// By the names under which jobs ask for them.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeMap<String, Source>);

#[derive(Debug, thiserror::Error)]
pub(super) enum SecretError {
    #[error(
        "this worker was given no secret {0}; its operator allows one with --secret {0}=env:VARIABLE or {0}=file:PATH"
    )]
    NotAllowed(String),
    #[error("the secret {name} can't be had: the worker has no variable {variable}")]
    NoVariable { name: String, variable: String },
    #[error("the secret {name} can't be had: failed to read {}: {source}", path.display())]
    Read { name: String, path: PathBuf, source: std::io::Error },
    #[error("the secret {name} can't be had: {} is longer than {BYTES_MAX} bytes", path.display())]
    TooLong { name: String, path: PathBuf },
}

/// NAME=env:VARIABLE or NAME=file:PATH, as an argument.
#[derive(Debug, Clone)]
pub(super) struct Allowed(String, Source);

pub(super) fn allowed(text: &str) -> Result<Allowed, String> {
    let source = text.split_once('=').and_then(|(name, source)| {
        let source = match source.split_once(':')? {
            ("env", variable) if !variable.is_empty() => Source::Variable(variable.to_owned()),
            ("file", path) if !path.is_empty() => Source::File(PathBuf::from(path)),
            _ => return None,
        };
        (!name.is_empty()).then(|| Allowed(name.to_owned(), source))
    });
    source.ok_or_else(|| "write it as NAME=env:VARIABLE or NAME=file:PATH".to_owned())
}

impl Secrets {
    pub(super) fn new(allowed: Vec<Allowed>) -> Secrets {
        Secrets(allowed.into_iter().map(|Allowed(name, source)| (name, source)).collect())
    }

    /// As it is now: a file may be written anew while the worker runs. A last line break is no part of
    /// it.
    pub(super) fn reveal(&self, name: &str) -> Result<String, SecretError> {
        let source = self.0.get(name).ok_or_else(|| SecretError::NotAllowed(name.to_owned()))?;
        let name = name.to_owned();
        let mut text = match source {
            Source::Variable(variable) => std::env::var(variable)
                .map_err(|_| SecretError::NoVariable { name, variable: variable.clone() })?,
            Source::File(path) => {
                let failed =
                    |source| SecretError::Read { name: name.clone(), path: path.clone(), source };
                if std::fs::metadata(path).map_err(failed)?.len() > BYTES_MAX {
                    return Err(SecretError::TooLong { name, path: path.clone() });
                }
                std::fs::read_to_string(path).map_err(failed)?
            }
        };
        if text.ends_with('\n') {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        Ok(text)
    }
}

/// Replaces secrets in what a command prints, wherever its pieces are torn.
#[derive(Debug, Clone, Default)]
pub(super) struct Mask {
    secrets: Vec<Vec<u8>>,
    /// May be the beginning of a secret.
    held: Vec<u8>,
}

impl Mask {
    pub(super) fn new(secrets: &[String]) -> Mask {
        let mut secrets: Vec<Vec<u8>> =
            secrets.iter().map(|secret| secret.clone().into_bytes()).collect();
        secrets.retain(|secret| secret.len() >= MASKED_BYTES_MIN);
        // Of two that begin the same the longer one counts.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Mask { secrets, held: Vec::new() }
    }

    /// What can be shown now.
    pub(super) fn cover(&mut self, printed: &[u8]) -> Vec<u8> {
        if self.secrets.is_empty() {
            return printed.to_vec();
        }
        self.held.extend_from_slice(printed);
        self.show(true)
    }

    /// The rest, once nothing follows.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.show(false)
    }

    fn show(&mut self, more: bool) -> Vec<u8> {
        let text = std::mem::take(&mut self.held);
        let mut shown = Vec::with_capacity(text.len());
        let mut rest = &text[..];
        while !rest.is_empty() {
            let begins = |secret: &Vec<u8>| secret.len() > rest.len() && secret.starts_with(rest);
            if more && self.secrets.iter().any(begins) {
                break;
            } else if let Some(secret) = self.secrets.iter().find(|secret| rest.starts_with(secret))
            {
                shown.extend_from_slice(MASK);
                rest = &rest[secret.len()..];
            } else {
                shown.push(rest[0]);
                rest = &rest[1..];
            }
        }
        self.held = rest.to_vec();
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_covered_wherever_it_is_torn() {
        let text = b"token=hunter2-and-more, hunter2, hunt";
        for cut in 0..text.len() {
            let mut mask = Mask::new(&["hunter2".to_owned(), "hunter2-and-more".to_owned()]);
            let mut shown = mask.cover(&text[..cut]);
            shown.extend(mask.cover(&text[cut..]));
            shown.extend(mask.finish());
            let shown = String::from_utf8(shown).unwrap();
            assert_eq!(shown, "token=***, ***, hunt", "torn at {cut}");
        }
    }

    #[test]
    fn a_file_may_change_and_its_last_line_break_is_no_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "one\n").unwrap();
        let secrets = Secrets::new(vec![allowed(&format!("db=file:{}", path.display())).unwrap()]);
        assert_eq!(secrets.reveal("db").unwrap(), "one");
        std::fs::write(&path, "two").unwrap();
        assert_eq!(secrets.reveal("db").unwrap(), "two");
        assert!(secrets.reveal("other").unwrap_err().to_string().contains("--secret other="));
    }

    #[test]
    fn only_what_says_where_it_is_is_a_secret() {
        assert!(allowed("a=env:A").is_ok());
        for wrong in ["a", "a=b", "a=env:", "=env:A", "a=vault:x"] {
            assert!(allowed(wrong).is_err(), "{wrong}");
        }
    }
}
