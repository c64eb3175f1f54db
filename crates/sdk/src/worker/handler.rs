//! What runs the jobs of one type.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::context::Context;
use super::outcome::{IntoOutcome, Outcome};

pub(crate) type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Implemented by async functions of a [`Context`].
///
/// The first part of a handler, up to where it waits, may run on the task that talks to the
/// scheduler: do not block. [`WorkerBuilder::blocking_job`](super::WorkerBuilder::blocking_job) is
/// for work that does.
pub trait Handler: Send + Sync + 'static {
    fn run(&self, context: Context) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;
}

impl<F, T> Handler for F
where
    F: Fn(Context) -> T + Send + Sync + 'static,
    T: Future<Output: IntoOutcome> + Send + 'static,
{
    fn run(&self, context: Context) -> Running {
        let future = self(context);
        Box::pin(async move { future.await.into_outcome() })
    }
}

/// A function that blocks its thread, on threads for that.
pub(super) struct Blocking<F>(pub(super) Arc<F>);

impl<F, O> Handler for Blocking<F>
where
    F: Fn(Context) -> O + Send + Sync + 'static,
    O: IntoOutcome,
{
    fn run(&self, context: Context) -> Running {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || function(context).into_outcome()).await {
                Ok(outcome) => outcome,
                Err(error) => Outcome::retry(format_args!("the handler did not end: {error}")),
            }
        })
    }
}

/// Loads a model before the first job that needs it.
pub(crate) type ModelLoader =
    Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;
