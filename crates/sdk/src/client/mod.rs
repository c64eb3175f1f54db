//! Submitting jobs, following them and steering the scheduler.

mod builder;
mod explain;
mod jobs;
mod keys;
mod logs;
mod steer;
mod stream;
mod submit;
mod watch;

use std::future::Future;
use std::time::Instant;

use bellwether_wire::v1::scheduler_client::SchedulerClient;
use tonic::{Response, Status};

use crate::connection::{Connection, Link};
use crate::error::ClientError;

pub use builder::ClientBuilder;
pub use jobs::{Job, Jobs};
pub use logs::Output;
pub use stream::{Answers, SubmitStream, Submitter};
pub use submit::Accepted;
pub use watch::{Ended, Events};

/// A connection to the scheduler. Clones share it.
///
/// A call that can't reach the scheduler is tried again, with growing pauses, until the patience of
/// [`ClientBuilder::patience`] ends; that is safe because submissions carry an idempotency key.
#[derive(Debug, Clone)]
pub struct Client {
    link: SchedulerClient<Link>,
    settings: std::sync::Arc<Settings>,
}

#[derive(Debug)]
struct Settings {
    connection: Connection,
    builder: ClientBuilder,
}

impl Client {
    pub fn builder(address: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(address.into())
    }

    /// Connects, with everything at its default.
    pub async fn connect(address: impl Into<String>) -> Result<Client, ClientError> {
        Client::builder(address).connect().await
    }

    /// Where the scheduler is.
    pub fn address(&self) -> &str {
        &self.settings.connection.address
    }

    /// Tries until it is answered, refused, or out of patience.
    async fn call<T, F>(&self, send: impl Fn(SchedulerClient<Link>) -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let begun = Instant::now();
        let mut failures = 0;
        let mut renewed = false;
        loop {
            let error = match send(self.link.clone()).await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => self.error(&status),
            };
            let denied = matches!(error, ClientError::Denied(_));
            if denied && !renewed && self.settings.connection.credentials.renew() {
                renewed = true;
                continue;
            }
            failures += 1;
            let pause = self.settings.builder.backoff.pause(failures);
            let patient = begun.elapsed() + pause < self.settings.builder.patience;
            if !error.is_transient() || !patient {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn error(&self, status: &Status) -> ClientError {
        ClientError::from_status(self.address(), status)
    }
}
