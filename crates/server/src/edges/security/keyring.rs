//! Where tokens come from, and that they are read again when they change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::local::LocalToken;
use super::tokens::{Tokens, TokensError};
use crate::config::{Auth, ServerConfig};

/// How often files are looked at; SIGHUP is quicker.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Beside the scheduler's own token, for those of others.
const TOKENS_FILE: &str = "tokens";

/// Those who are let in.
#[derive(Debug)]
pub(crate) struct Keyring {
    /// Says who may come in; it may be missing if there is a local token.
    file: PathBuf,
    /// None if the configuration names a file: then that says it all.
    pub(crate) local: Option<LocalToken>,
    tokens: watch::Sender<Arc<Tokens>>,
    // What the files were when they were last read. Held while they are read, by the task that looks
    // at them or by whoever was told to.
    read: Mutex<Vec<Stamp>>,
}

/// What changes when a file does.
type Stamp = Option<(SystemTime, u64)>;

impl Keyring {
    /// None: nobody is asked for a token. The data directory must be there.
    pub(crate) fn open(config: &ServerConfig) -> Result<Option<Keyring>, TokensError> {
        if config.auth == Auth::Off {
            tracing::warn!(
                "auth is off: every user and every program of this machine may do everything"
            );
            return Ok(None);
        }
        let (file, local) = match &config.tokens {
            Some(file) => (file.clone(), None),
            None => {
                let local = LocalToken::open(&config.data_dir)?;
                (config.data_dir.join(TOKENS_FILE), Some(local))
            }
        };
        let tokens = watch::Sender::new(Arc::default());
        let keyring = Keyring { file, local, tokens, read: Mutex::default() };
        keyring.read_anew()?;
        Ok(Some(keyring))
    }

    pub(crate) fn tokens(&self) -> watch::Receiver<Arc<Tokens>> {
        self.tokens.subscribe()
    }

    /// What can't be read leaves everything as it was. True if others are let in than before.
    pub(crate) fn reload(&self) -> Result<bool, TokensError> {
        self.read_anew()
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the files again whenever they have changed.
    pub(crate) async fn follow(self: Arc<Keyring>) {
        let mut pulse = tokio::time::interval(LOOK_INTERVAL);
        loop {
            pulse.tick().await;
            if !self.has_changed() {
                continue;
            }
            match self.reload() {
                Ok(true) => tracing::info!(file = %self.file.display(), "tokens were read again"),
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "tokens stay as they were"),
            }
        }
    }

    fn has_changed(&self) -> bool {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) != self.stamps()
    }

    fn stamps(&self) -> Vec<Stamp> {
        let local = self.local.as_ref().map(|local| local.path());
        [Some(self.file.as_path()), local].into_iter().flatten().map(stamp).collect()
    }

    /// True if others are let in than before.
    fn read_anew(&self) -> Result<bool, TokensError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken first: what changes meanwhile is read once more.
        *read = self.stamps();
        let mut tokens = match (Tokens::load(&self.file), &self.local) {
            (Err(error), Some(_)) if error.is_missing() => Tokens::default(),
            (loaded, _) => loaded?,
        };
        if let Some(local) = &self.local {
            tokens.insert(&local.read()?, LocalToken::holder());
        }
        Ok(self.tokens.send_if_modified(|known| {
            let changed = **known != tokens;
            *known = Arc::new(tokens);
            changed
        }))
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

impl TokensError {
    fn is_missing(&self) -> bool {
        use bellwether_wire::private::PrivateError;
        let (TokensError::Read { source, .. }
        | TokensError::Private(PrivateError::Read { source, .. })) = self
        else {
            return false;
        };
        source.kind() == io::ErrorKind::NotFound
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{Holder, Role, issue};
    use super::*;

    fn keyring(dir: &Path) -> Keyring {
        let config = ServerConfig { data_dir: dir.to_owned(), ..ServerConfig::default() };
        Keyring::open(&config).unwrap().unwrap()
    }

    #[test]
    fn the_token_of_the_first_start_is_that_of_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let token = keyring(dir.path()).local.unwrap().read().unwrap();
        let again = keyring(dir.path());
        assert_eq!(again.local.as_ref().unwrap().read().unwrap(), token);
        assert_eq!(again.tokens().borrow().holder(&token).unwrap().name, "local");
    }

    #[test]
    fn a_line_is_let_in_and_taken_back_and_a_bad_file_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let keyring = keyring(dir.path());
        let (token, line) = issue(&Holder::new("ci", &[Role::Viewer])).unwrap();
        let file = dir.path().join(TOKENS_FILE);
        let known = || keyring.tokens().borrow().holder(&token).is_some();
        assert!(!known());
        bellwether_wire::private::write_secret(&file, &line).unwrap();
        assert!(keyring.has_changed());
        assert!(keyring.reload().unwrap());
        assert!(known() && !keyring.has_changed());
        bellwether_wire::private::write_secret(&file, "nonsense").unwrap();
        keyring.reload().unwrap_err();
        assert!(known());
        std::fs::remove_file(&file).unwrap();
        assert!(keyring.reload().unwrap());
        assert!(!known());
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = Some(dir.path().join("missing"));
        let data_dir = dir.path().to_owned();
        let config = ServerConfig { data_dir, tokens, ..ServerConfig::default() };
        assert!(Keyring::open(&config).is_err());
    }
}
