//! Other systems that are passed what is seen, each from a thread of its own.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bellwether_brokers::Backoff;
use tokio::sync::watch;

use super::buffer::Buffer;
use crate::cluster::Standing;

/// How long one batch may take.
const BATCH_WITHIN: Duration = Duration::from_secs(30);
/// The same at the end of the process, which somebody waits for.
const LAST_WITHIN: Duration = Duration::from_secs(2);
/// Pauses after failures: they double.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Undelivered {
    /// It may take the same later.
    #[error("{0}")]
    Later(String),
    /// It will never take these.
    #[error("{0}")]
    Never(String),
}

/// A system that takes batches.
pub(crate) trait Outlet: Send + 'static {
    type Item: Send + 'static;

    const NAME: &'static str;
    const BATCH_MAX: usize;
    /// Of what waits while another scheduler leads, so many are kept: the leader may go before it has
    /// sent them. 0 where to send something twice is worse than not at all.
    const KEPT_OFF_DUTY: usize;

    /// An empty batch tries whether the other side is there, before the first that is not.
    fn deliver(
        &mut self,
        batch: &[Self::Item],
    ) -> impl Future<Output = Result<(), Undelivered>> + Send;

    /// The other side has these.
    fn delivered(&mut self, batch: &[Self::Item]);
}

/// Whether this scheduler is the one that tells others: among several the leader is.
#[derive(Debug, Clone)]
pub(crate) struct Duty(watch::Receiver<Standing>);

impl Duty {
    pub(crate) fn new(standing: watch::Receiver<Standing>) -> Duty {
        Duty(standing)
    }

    fn is_on(&self) -> bool {
        self.0.borrow().reign().is_some()
    }
}

/// The thread of an outlet.
#[derive(Debug)]
pub(crate) struct Sending<T> {
    buffer: Arc<Buffer<T>>,
    thread: std::thread::JoinHandle<()>,
    name: &'static str,
}

impl<T: Send + 'static> Sending<T> {
    /// Batches are gathered for `interval`.
    pub(crate) fn start<O: Outlet<Item = T>>(
        outlet: O,
        buffer: Arc<Buffer<T>>,
        interval: Duration,
        duty: Duty,
    ) -> std::io::Result<Sending<T>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let filled = buffer.clone();
        let thread = std::thread::Builder::new().name(O::NAME.to_owned()).spawn(move || {
            crate::priority::set_lowest_priority();
            runtime.block_on(run(outlet, &filled, interval, duty));
        })?;
        Ok(Sending { buffer, thread, name: O::NAME })
    }

    /// Sends what there is, if that does not take long.
    pub(crate) fn close(self) {
        self.buffer.close();
        if self.thread.join().is_err() {
            tracing::error!(sink = self.name, "the thread of a sink panicked");
        }
    }
}

async fn run<O: Outlet>(mut outlet: O, buffer: &Buffer<O::Item>, interval: Duration, duty: Duty) {
    let mut backoff = Backoff::new(PAUSE_MIN, PAUSE_MAX);
    let mut tried = false;
    loop {
        buffer.wait_for_batch(interval).await;
        let closed = buffer.is_closed();
        if !duty.is_on() {
            if closed {
                return;
            }
            buffer.keep(O::KEPT_OFF_DUTY);
            buffer.rest(interval).await;
            continue;
        }
        let batch = buffer.take(O::BATCH_MAX);
        if batch.is_empty() && (tried || closed) {
            if closed {
                return;
            }
            continue;
        }
        let within = if closed { LAST_WITHIN } else { BATCH_WITHIN };
        let delivered = tokio::time::timeout(within, outlet.deliver(&batch)).await;
        let late = || Undelivered::Later("it took too long".to_owned());
        let counts = buffer.counts();
        match delivered.unwrap_or_else(|_| Err(late())) {
            Ok(()) => {
                backoff.succeeded();
                tried = true;
                counts.written.fetch_add(batch.len() as u64, Ordering::Relaxed);
                outlet.delivered(&batch);
            }
            Err(error) => {
                counts.failures.fetch_add(1, Ordering::Relaxed);
                let (sink, count, pause) = (O::NAME, batch.len(), backoff.failed());
                tracing::warn!(sink, %error, count, ?pause, "a batch was not taken");
                match error {
                    Undelivered::Later(_) if !closed => buffer.put_back(batch),
                    Undelivered::Later(_) | Undelivered::Never(_) => {
                        counts.dropped.fetch_add(count as u64, Ordering::Relaxed);
                    }
                }
                if closed {
                    return;
                }
                buffer.rest(pause).await;
            }
        }
    }
}
