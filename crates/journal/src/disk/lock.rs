//! One scheduler per data directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::journal::{AppendError, OpenError};

pub(crate) const FILE: &str = "lock";

/// The process before may be just about to end.
const PATIENCE: Duration = Duration::from_millis(400);

/// Held until dropped, or until the process ends however it ends.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
    directory: PathBuf,
}

impl DirectoryLock {
    pub fn take(dir: &Path) -> Result<DirectoryLock, OpenError> {
        let path = dir.join(FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        if !lock_within(&file, PATIENCE)? {
            let mut holder = String::new();
            file.read_to_string(&mut holder)?;
            let holder = holder.trim().to_owned();
            return Err(OpenError::Locked { directory: dir.to_owned(), holder });
        }
        write_holder(&mut file)?;
        Ok(DirectoryLock { file, directory: dir.to_owned() })
    }

    /// Whether the directory is still the one that was locked. Whatever is written to files that
    /// nobody can find any more is lost with the process, however durable it seems.
    pub fn check(&self) -> Result<(), AppendError> {
        let (held, found) = (self.file.metadata(), fs::metadata(self.directory.join(FILE)));
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        match (held.map(identity), found.map(identity)) {
            (Ok(held), Ok(found)) if held == found => Ok(()),
            (Err(error), _) => Err(AppendError::Write(error)),
            _ => Err(AppendError::Gone { directory: self.directory.clone() }),
        }
    }
}

fn lock_within(file: &File, patience: Duration) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if start.elapsed() > patience => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(patience / 20),
        }
    }
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_gone_or_another_is_noticed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("data");
        fs::create_dir(&dir).unwrap();
        let lock = DirectoryLock::take(&dir).unwrap();
        lock.check().unwrap();
        fs::rename(&dir, folder.path().join("away")).unwrap();
        let gone = lock.check().unwrap_err();
        assert!(gone.is_fatal());
        assert!(gone.to_string().contains(dir.to_str().unwrap()), "{gone}");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(FILE), "another").unwrap();
        assert!(matches!(lock.check(), Err(AppendError::Gone { .. })));
        fs::remove_dir_all(&dir).unwrap();
        fs::rename(folder.path().join("away"), &dir).unwrap();
        lock.check().unwrap();
    }
}
