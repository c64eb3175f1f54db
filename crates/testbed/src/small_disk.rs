//! A disk that is soon full.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::cannot_run;

/// A file system in memory of a given size, gone when it is dropped.
#[derive(Debug)]
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// None where this process may not mount one, and then it has been said that the test can't run.
    ///
    /// # Panics
    /// When there is no temporary folder to mount it on, or with `CI=true` instead of none.
    #[must_use]
    pub fn mount(bytes: u64) -> Option<SmallDisk> {
        let folder = TempDir::new().expect("the temporary folder is writable");
        let size = format!("size={bytes}");
        let words = ["mount", "-t", "tmpfs", "-o", &size, "tmpfs"];
        match run(&words, folder.path()) {
            Ok(()) => Some(SmallDisk(folder)),
            Err(error) => {
                cannot_run(&format!("no small disk can be mounted: {error}"));
                None
            }
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// # Panics
    /// When the kernel refuses.
    pub fn resize(&self, bytes: u64) {
        let size = format!("remount,size={bytes}");
        run(&["mount", "-o", &size], self.path()).expect("what was mounted can change its size");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run(&["umount", "--lazy"], self.path()).expect("what was mounted can be removed");
    }
}

fn run(words: &[&str], path: &Path) -> Result<(), String> {
    let output = Command::new(words[0]).args(&words[1..]).arg(path).output();
    let Output { status, stderr, .. } = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    status.success().then_some(()).ok_or(said)
}
