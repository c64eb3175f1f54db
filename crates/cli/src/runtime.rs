//! The runtime that connections are served on.

use std::num::NonZero;

use tokio::runtime::{Builder, Runtime};

/// On half of the processors: the loop, the journal and those who look on are threads of their own.
/// On two processors one thread serves a third more jobs a second than two, which wake each other.
pub(crate) fn start() -> std::io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread().worker_threads((processors / 2).max(1)).enable_all().build()
}
