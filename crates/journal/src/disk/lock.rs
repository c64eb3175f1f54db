//! One scheduler per data directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::journal::OpenError;

pub(crate) const FILE: &str = "lock";

/// The process before may be just about to end.
const PATIENCE: Duration = Duration::from_millis(400);

/// Held until dropped, or until the process ends however it ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(crate) fn take(dir: &Path) -> Result<DirectoryLock, OpenError> {
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
        Ok(DirectoryLock { _file: file })
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
