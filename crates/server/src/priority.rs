//! Who goes first when processors are short.

/// How far those stand back who only look on; not further, because readers wait for them.
const NICE: i32 = 10;

/// Whoever schedules goes first; this thread can catch up later.
pub(crate) fn give_way() {
    let this = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(this), NICE) {
        tracing::debug!(%error, "a thread that looks on runs at the usual priority");
    }
}
