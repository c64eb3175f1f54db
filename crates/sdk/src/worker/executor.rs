//! Starts handlers: at once where they are quick, beside the session where they wait.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bellwether_wire::handlers_of;
use bellwether_wire::v1;
use futures_util::FutureExt;
use futures_util::future::CatchUnwind;
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::context::Context;
use super::credentials::Credentials;
use super::handler::{Handler, ModelLoader, Running};
use super::logs::Outbox;
use super::outcome::Outcome;

/// The scheduler counts the timeout itself; this is for when it can't be heard.
const TIMEOUT_GRACE: Duration = Duration::from_secs(1);
/// How long a handler may take to notice that it was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(10);
/// How long quick handlers may keep the session from its messages; then handlers get their own
/// tasks, so that other threads can take them.
const INLINE_BUDGET: Duration = Duration::from_micros(500);

/// What handlers have to say to the session.
#[derive(Debug)]
pub(crate) enum Happening {
    Finished {
        token: u64,
        outcome: Outcome,
    },
    /// The context has it.
    Progressed {
        token: u64,
    },
    /// The task of a revoked attempt was ended, because it did not by itself.
    Ended {
        token: u64,
    },
    ModelLoaded(v1::ModelLoaded),
}

pub(crate) enum Begun {
    Finished(Outcome),
    Running(AbortHandle),
}

pub(crate) struct Executor {
    handlers: FxHashMap<String, Arc<dyn Handler>>,
    loader: Option<ModelLoader>,
    happenings: mpsc::UnboundedSender<Happening>,
    logs: Arc<Outbox>,
    /// Who we are to the scheduler; none before the first session.
    credentials: Option<Arc<Credentials>>,
}

impl Executor {
    pub(crate) fn new(
        handlers: FxHashMap<String, Arc<dyn Handler>>,
        loader: Option<ModelLoader>,
        happenings: mpsc::UnboundedSender<Happening>,
        logs: Arc<Outbox>,
    ) -> Executor {
        Executor { handlers, loader, happenings, logs, credentials: None }
    }

    pub(crate) fn introduced(&mut self, credentials: Arc<Credentials>) {
        self.credentials = Some(credentials);
    }

    pub(crate) fn context(&self, offer: v1::Offer) -> Context {
        Context::new(offer, self.happenings.clone(), self.logs.clone())
    }

    /// `since` is when the session began to start handlers in one go.
    pub(crate) fn begin(&self, context: &Context, since: Instant) -> Begun {
        let offer = context.offer();
        let mut closest = handlers_of(context.kind());
        let Some(handler) = closest.find_map(|kind| self.handlers.get(kind)) else {
            let error = format!("this worker has no handler for jobs of type {}", context.kind());
            return Begun::Finished(Outcome::NoHandler { error });
        };
        if let Some(credentials) = &self.credentials
            && let Err(why) = credentials.verify_chain(context)
        {
            return Begun::Finished(Outcome::retry(format_args!("it was not handed to us: {why}")));
        }
        if !offer.load_model.is_empty() {
            return self.begin_cold(context, Arc::clone(handler));
        }
        let mut running = AssertUnwindSafe(handler.run(context.clone())).catch_unwind();
        if since.elapsed() < INLINE_BUDGET
            && let Some(outcome) = poll_once(&mut running)
        {
            return Begun::Finished(outcome);
        }
        self.spawn(context, async move { unwound(running.await) })
    }

    /// The model first. The attempt has begun: loading is part of its time.
    fn begin_cold(&self, context: &Context, handler: Arc<dyn Handler>) -> Begun {
        let model = context.offer().load_model.clone();
        let Some(loader) = self.loader.clone() else {
            return Begun::Finished(Outcome::retry(format_args!(
                "this worker can't load the model {model}"
            )));
        };
        let happenings = self.happenings.clone();
        let inner = context.clone();
        self.spawn(context, async move {
            let begun = Instant::now();
            if let Err(error) = loader(model.clone()).await {
                return Outcome::retry(format_args!("failed to load the model {model}: {error}"));
            }
            let took = crate::job::micros(begun.elapsed());
            drop(happenings.send(Happening::ModelLoaded(v1::ModelLoaded { model, took })));
            unwound(AssertUnwindSafe(handler.run(inner)).catch_unwind().await)
        })
    }

    /// A revoked attempt is asked to stop first and stopped later.
    pub(crate) fn stop_later(&self, token: u64, task: AbortHandle) {
        let happenings = self.happenings.clone();
        tokio::spawn(async move {
            tokio::time::sleep(CANCEL_GRACE).await;
            task.abort();
            drop(happenings.send(Happening::Ended { token }));
        });
    }

    fn spawn(
        &self,
        context: &Context,
        work: impl Future<Output = Outcome> + Send + 'static,
    ) -> Begun {
        let happenings = self.happenings.clone();
        let context = context.clone();
        let limit = Duration::from_micros(context.spec().timeout.unwrap_or_default())
            .saturating_add(TIMEOUT_GRACE);
        let task = tokio::spawn(async move {
            let outcome = match tokio::time::timeout(limit, work).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    context.cancel();
                    Outcome::retry("the timeout passed")
                }
            };
            // The session is gone only if the whole worker is.
            drop(happenings.send(Happening::Finished { token: context.token(), outcome }));
        });
        Begun::Running(task.abort_handle())
    }
}

type Caught = CatchUnwind<AssertUnwindSafe<Running>>;

fn poll_once(running: &mut Caught) -> Option<Outcome> {
    let waker = std::task::Waker::noop();
    match running.poll_unpin(&mut std::task::Context::from_waker(waker)) {
        Poll::Ready(result) => Some(unwound(result)),
        // A task of its own will poll it again, with its own waker.
        Poll::Pending => None,
    }
}

fn unwound(result: Result<Outcome, Box<dyn std::any::Any + Send>>) -> Outcome {
    result.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Outcome::retry(format_args!("the handler panicked: {}", text.unwrap_or_default()))
    })
}
