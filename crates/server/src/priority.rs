//! Who goes first when processors are short.

use std::time::Duration;

use tokio::runtime::{Handle, Runtime};

/// How far the tasks of queues stand back: what they read is for the loop, and workers may be waiting
/// behind a queue, but those that are connected wait for every answer.
const NICE_QUEUES: i32 = 5;
/// How far the registry stands back; not further, because readers wait for it.
const NICE: i32 = 10;
/// How far those stand back whom nobody waits for: metrics, sinks, followers of events.
const NICE_ONLOOKER: i32 = 15;
/// How long those who look on let news gather, so that the loop need not wake them for each.
const GATHER: Duration = Duration::from_millis(20);
/// Long enough for whoever waits for the processor to have it.
const BREATH: Duration = Duration::from_micros(50);
/// Reads of files at a time.
const BLOCKING_THREADS_MAX: usize = 4;

/// A runtime of its own for those who give way: their work neither goes before that of connections
/// nor stands in front of it on the same thread.
#[derive(Debug)]
pub(crate) struct Aside(Option<Runtime>);

impl Aside {
    /// For those who read much and wait for it.
    pub(crate) fn onlookers() -> std::io::Result<Aside> {
        Aside::start("background", NICE_ONLOOKER)
    }

    pub(crate) fn queues() -> std::io::Result<Aside> {
        Aside::start("queues", NICE_QUEUES)
    }

    fn start(name: &str, nice: i32) -> std::io::Result<Aside> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name(name)
            .on_thread_start(move || lower(nice))
            .enable_all()
            .build()?;
        Ok(Aside(Some(runtime)))
    }

    pub(crate) fn handle(&self) -> Handle {
        let runtime = self.0.as_ref().expect("it is there until it is dropped");
        runtime.handle().clone()
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Where this is dropped nobody may wait.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Whoever schedules goes first; this thread can catch up later.
pub(crate) fn lower_priority() {
    lower(NICE);
}

/// The same for those whom nobody waits for.
pub(crate) fn set_lowest_priority() {
    lower(NICE_ONLOOKER);
}

/// Lets news gather. Whoever cannot wait for that unparks the thread.
pub(crate) fn gather() {
    std::thread::park_timeout(GATHER);
}

/// Leaves the processor to others for a moment in the middle of long work: a thread that runs is not
/// interrupted for several milliseconds by one that wakes, however low its priority. To yield is not
/// the same: that gives up a share of the processor which a busy machine does not give back.
pub(crate) fn breathe() {
    std::thread::sleep(BREATH);
}

fn lower(nice: i32) {
    let this = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(this), nice) {
        tracing::debug!(%error, "a thread that looks on runs at the usual priority");
    }
}
