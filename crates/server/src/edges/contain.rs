//! Panics that end what was asked, and nothing else.
//!
//! A panic is a bug, and elsewhere it ends the process: the journal has everything, and a scheduler
//! without one of its threads would take jobs and do nothing. But what somebody sends must not choose
//! when that happens, so whatever only reads a request and tells its answer is contained: the request
//! ends with an error, and the panic is logged and counted.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

thread_local! {
    /// Whether this thread is at work for one request.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Whether a panic here and now ends only a request: for the hook that ends the process otherwise.
pub fn is_contained() -> bool {
    CONTAINED.get()
}

/// How often that has happened in this process.
pub(crate) fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this request has met a bug of the scheduler; its log says more")]
pub(crate) struct Panicked;

impl From<Panicked> for Status {
    fn from(panicked: Panicked) -> Status {
        Status::internal(panicked.to_string())
    }
}

/// `what` names the request in the log.
pub(crate) fn contain<T>(what: &dyn Display, work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let before = CONTAINED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(|| {
        planted(what);
        work()
    }));
    CONTAINED.set(before);
    done.map_err(|panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let panic = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        tracing::error!(%what, panic, "a request is ended by a bug");
        Panicked
    })
}

/// The bug that a test has asked for: builds for tests have one in the request of this name.
fn planted(what: &dyn Display) {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let wanted = || std::env::var("BELLWETHER_PLANTED_PANIC").ok();
    if cfg!(debug_assertions)
        && let Some(wanted) = WANTED.get_or_init(wanted)
        && what.to_string().contains(wanted)
    {
        panic!("planted in {what}");
    }
}

/// A future of which each step is contained.
#[derive(Debug)]
pub(crate) struct Contained<F> {
    pub(crate) what: Cow<'static, str>,
    work: Pin<Box<F>>,
}

impl<F: Future> Contained<F> {
    pub(crate) fn new(what: impl Into<Cow<'static, str>>, work: F) -> Contained<F> {
        Contained { what: what.into(), work: Box::pin(work) }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Contained { what, work } = &mut *self;
        match contain(what, || work.as_mut().poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

/// On a task of its own, which nobody waits for.
pub(crate) fn spawn(what: &'static str, work: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(Contained::new(what, work)));
}

/// An answer that is still being made while it is sent.
#[derive(Debug)]
pub(crate) struct ContainedBody {
    pub(crate) what: Cow<'static, str>,
    pub(crate) body: Body,
}

impl hyper::body::Body for ContainedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let ContainedBody { what, body } = &mut *self;
        match contain(what, || Pin::new(body).poll_frame(context)) {
            Ok(poll) => poll,
            Err(panicked) => Poll::Ready(Some(Err(panicked.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_what_was_asked_and_is_counted() {
        let before = panics();
        let asked = Contained::new("GET /bug", async {
            tokio::task::yield_now().await;
            assert!(is_contained());
            panic!("a bug");
        });
        let answer: Result<(), Panicked> = asked.await;
        assert_eq!(answer, Err(Panicked));
        assert!(panics() > before);
        assert!(!is_contained(), "what comes after it is not part of it");
        assert_eq!(Contained::new("GET /fine", async { 7 }).await, Ok(7));
    }
}
