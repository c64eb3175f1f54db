//! How long the disk takes for a sync, measured beside the run.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BLOCK_BYTES: usize = 4 << 10;
/// Rare enough not to disturb what is measured.
const INTERVAL: Duration = Duration::from_millis(20);
/// So that short runs have a median, too.
const SAMPLES_MIN: usize = 50;

/// Appends a block to a file of its own and syncs it, again and again.
#[derive(Debug)]
pub(crate) struct DiskProbe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<u64>>>,
}

impl DiskProbe {
    pub(crate) fn start(path: &Path) -> io::Result<DiskProbe> {
        let mut file = File::create(path)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("disk".to_owned()).spawn(move || {
            let mut samples = Vec::new();
            while !stopped.load(Ordering::Relaxed) || samples.len() < SAMPLES_MIN {
                file.write_all(&[0; BLOCK_BYTES])?;
                let begun = Instant::now();
                file.sync_data()?;
                samples.push(begun.elapsed().as_nanos() as u64);
                std::thread::sleep(INTERVAL);
            }
            Ok(samples)
        })?;
        Ok(DiskProbe { stop, thread })
    }

    /// Nanoseconds of each sync.
    pub(crate) fn stop(self) -> io::Result<Vec<u64>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the probe does not panic")
    }
}
