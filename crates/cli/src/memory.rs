//! How memory comes.

/// Asks for memory in small pages only. A large one is cleared as a whole by whoever touches it
/// first, which takes milliseconds during which the loop stands still; throughput is the same.
/// Commands inherit this, so it is not for whoever runs them.
pub(crate) fn in_small_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "memory may come in large pages");
    }
}
