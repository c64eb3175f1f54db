//! Who goes first when processors are short.

use tokio::runtime::{Handle, Runtime};

/// How far those stand back who only look on; not further, because readers wait for them.
const NICE: i32 = 10;
/// Reads of files at a time.
const BLOCKING_THREADS_MAX: usize = 4;

/// Threads for those who read much and wait for it: all of them give way.
#[derive(Debug)]
pub(crate) struct Background(Option<Runtime>);

impl Background {
    pub(crate) fn start() -> std::io::Result<Background> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("background")
            .on_thread_start(give_way)
            .enable_all()
            .build()?;
        Ok(Background(Some(runtime)))
    }

    pub(crate) fn handle(&self) -> Handle {
        let runtime = self.0.as_ref().expect("it is there until it is dropped");
        runtime.handle().clone()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Where this is dropped nobody may wait.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Whoever schedules goes first; this thread can catch up later.
pub(crate) fn give_way() {
    let this = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(this), NICE) {
        tracing::debug!(%error, "a thread that looks on runs at the usual priority");
    }
}
