//! Data directories for tests, and ways to harm them.

use std::fs;
use std::path::{Path, PathBuf};

use bellwether_testbed::SmallDisk;
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

/// How large the disks are.
pub(crate) const DISK_BYTES: u64 = 1 << 20;

/// Takes all but about this many bytes of a disk.
pub(crate) fn fill_but(disk: &SmallDisk, bytes: usize) -> PathBuf {
    let path = disk.path().join("filler");
    let mut size = DISK_BYTES as usize;
    while fs::write(&path, vec![1; size]).is_err() {
        size -= 4096;
    }
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len((size - bytes) as u64).unwrap();
    path
}
