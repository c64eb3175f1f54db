//! A folder with given files, for tests; it goes when the value does.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
pub(crate) struct TemporaryTree {
    root: PathBuf,
}

impl TemporaryTree {
    pub(crate) fn new(files: &[(&str, &str)]) -> TemporaryTree {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("xtask-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir(&root).expect("the folder is new");
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        TemporaryTree { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for TemporaryTree {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).expect("the tree is ours to remove");
    }
}
