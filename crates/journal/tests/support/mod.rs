//! Data directories for tests, and ways to harm them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// In memory where there is such a place: thousands of journals are opened, each with its syncs.
pub(crate) fn memory_dir() -> TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { TempDir::new_in(shared).unwrap() } else { TempDir::new().unwrap() }
}

pub(crate) fn copy_of(dir: &Path) -> TempDir {
    let copy = memory_dir();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

/// A file system of one mebibyte, if this process may make one.
pub(crate) struct SmallDisk(TempDir);

impl SmallDisk {
    pub(crate) fn mount() -> Option<SmallDisk> {
        let dir = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(dir))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all but about this many bytes.
    pub(crate) fn fill_but(&self, bytes: usize) -> PathBuf {
        let path = self.path().join("filler");
        let mut size = 1 << 20;
        while fs::write(&path, vec![1; size]).is_err() {
            size -= 4096;
        }
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len((size - bytes) as u64)
            .unwrap();
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status().unwrap();
        assert!(unmounted.success());
    }
}
