//! The runtime that connections are served on.

use std::num::NonZero;

use tokio::runtime::{Builder, Runtime};

/// On half of the processors: the loop, the journal and those who look on are threads of their own.
/// More would only wake each other: `bellwether bench` shows it in jobs a second.
pub(crate) fn start() -> std::io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread().worker_threads((processors / 2).max(1)).enable_all().build()
}
