//! The token that a scheduler makes for its own machine. It lies in the data directory, and a link in
//! a folder of the user leads clients to it.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bellwether_wire::local_token::link_name;
use bellwether_wire::private::{make_folder, read_secret, write_secret};

use super::tokens::{Holder, Role, TokensError, random};

const FILE: &str = "token";
const NAME: &str = "local";
/// Everything that a person or a worker may do; another scheduler is neither.
const ROLES: [Role; 4] = [Role::Submitter, Role::Worker, Role::Operator, Role::Viewer];

#[derive(Debug)]
pub(crate) struct LocalToken {
    path: PathBuf,
}

impl LocalToken {
    /// Makes one if there is none.
    pub(crate) fn open(data_dir: &Path) -> Result<LocalToken, TokensError> {
        let local = LocalToken { path: data_dir.join(FILE) };
        local.make_if_missing().map_err(|source| {
            let path = local.path.clone();
            TokensError::Write { path, source }
        })?;
        Ok(local)
    }

    fn make_if_missing(&self) -> io::Result<()> {
        if self.path.try_exists()? {
            return Ok(());
        }
        write_secret(&self.path, &format!("{}\n", random()?))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn holder() -> Holder {
        Holder::new(NAME, &ROLES)
    }

    /// The token; one that others can read is refused.
    pub(crate) fn read(&self) -> Result<String, TokensError> {
        let text = read_secret(&self.path)?;
        let token = text.trim();
        if token.is_empty() {
            let path = self.path.clone();
            let problem = "it is empty; remove the file, and the next start makes a token";
            return Err(TokensError::Line { path, line: 1, problem: problem.to_owned() });
        }
        Ok(token.to_owned())
    }

    /// Leads clients of these addresses to the token, by links in the first of these folders that
    /// can be had.
    pub(crate) fn publish(&self, folders: &[PathBuf], addresses: &[SocketAddr]) {
        for folder in folders {
            match self.publish_in(folder, addresses) {
                Ok(()) => return,
                Err(error) => {
                    tracing::debug!(folder = %folder.display(), %error, "no token is left here");
                }
            }
        }
        let token_file = self.path.display();
        tracing::warn!(
            "clients will not find the token by themselves; give them --token-file {token_file}"
        );
    }

    fn publish_in(&self, folder: &Path, addresses: &[SocketAddr]) -> io::Result<()> {
        make_folder(folder)?;
        let target = self.path.canonicalize()?;
        sweep(folder)?;
        for address in addresses {
            let draft = folder.join(format!("{}.new", link_name(*address)));
            remove_if_there(&draft)?;
            symlink(&target, &draft)?;
            std::fs::rename(&draft, folder.join(link_name(*address)))?;
        }
        Ok(())
    }
}

/// Removes the links of schedulers whose data is gone.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() && !entry.path().try_exists()? {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_token_and_those_to_nothing_are_swept_away() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("links");
        let token = LocalToken::open(dir.path()).unwrap();
        let addresses = ["127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap()];
        std::fs::create_dir(&folder).unwrap();
        symlink("/nowhere/token", folder.join("127.0.0.1:9")).unwrap();
        // The first folder can't be made, because there is a file in its way.
        token.publish(&[dir.path().join("token/x"), folder.clone()], &addresses);
        let read = read_secret(&folder.join("127.0.0.1:2")).unwrap();
        assert_eq!(read.trim(), token.read().unwrap());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    }
}
