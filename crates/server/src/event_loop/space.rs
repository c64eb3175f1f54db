//! Is there space again?

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// As much as must be free before work is taken again, so that it is not refused a moment later.
const PROBE_BYTES: usize = 2 << 20;

#[derive(Debug)]
pub(crate) struct SpaceProbe {
    path: PathBuf,
}

impl SpaceProbe {
    pub(crate) fn new(data_dir: &Path) -> SpaceProbe {
        SpaceProbe { path: data_dir.join("space.probe") }
    }

    /// Asks by writing: quotas and reserved blocks make every other answer unreliable.
    pub(crate) fn has_space(&self) -> bool {
        let written = self.write();
        let removed = fs::remove_file(&self.path);
        written.is_ok() && removed.is_ok()
    }

    fn write(&self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        file.write_all(&vec![0x5a; PROBE_BYTES])?;
        file.sync_all()
    }
}
