//! How much of the disk the data directory takes. Beyond `disk_max` nothing new is taken, while what
//! was taken goes on: that is what makes room again, because jobs end and the history catches up.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// What `st_blocks` counts in.
const BLOCK_BYTES: u64 = 512;
/// Work is taken again at this share of the limit, so that it is not refused a moment later.
const ENOUGH_ROOM_PERCENT: u64 = 95;

#[derive(Debug)]
pub(crate) struct DiskBudget {
    /// None: as much as there is.
    max: Option<u64>,
    used: AtomicU64,
    exceeded: AtomicBool,
}

impl DiskBudget {
    /// Looks at the directory now and again until nobody asks any more.
    pub(crate) fn watch(
        data_dir: &Path,
        max: Option<u64>,
        background: &tokio::runtime::Handle,
    ) -> Arc<DiskBudget> {
        let budget =
            Arc::new(DiskBudget { max, used: AtomicU64::new(0), exceeded: AtomicBool::new(false) });
        budget.look(data_dir);
        let (watched, data_dir) = (Arc::downgrade(&budget), data_dir.to_owned());
        background.spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                let Some(budget) = watched.upgrade() else { return };
                let data_dir: PathBuf = data_dir.clone();
                let looked = tokio::task::spawn_blocking(move || budget.look(&data_dir)).await;
                if looked.is_err() {
                    return tracing::error!("nobody watches the size of the data directory");
                }
            }
        });
        budget
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn look(&self, data_dir: &Path) {
        let used = match disk_bytes(data_dir) {
            Ok(used) => used,
            Err(error) => return tracing::debug!(%error, "the data directory can't be measured"),
        };
        self.used.store(used, Ordering::Relaxed);
        let Some(max) = self.max else { return };
        let before = self.is_exceeded();
        let limit = if before { max / 100 * ENOUGH_ROOM_PERCENT } else { max };
        let exceeded = used > limit;
        self.exceeded.store(exceeded, Ordering::Relaxed);
        match (before, exceeded) {
            (false, true) => tracing::warn!(used, max, "disk_max is reached; new work is refused"),
            (true, false) => tracing::info!(used, max, "new work is taken again"),
            (false, false) | (true, true) => {}
        }
    }
}

/// What the files take, not what they are long: some have their space reserved ahead.
fn disk_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // Files come and go meanwhile.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += metadata.blocks() * BLOCK_BYTES;
        if metadata.is_dir() {
            bytes += disk_bytes(&entry.path()).unwrap_or(0);
        }
    }
    Ok(bytes)
}
