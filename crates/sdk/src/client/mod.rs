//! Submitting jobs, following them and steering the scheduler.

mod builder;
mod explain;
mod jobs;
mod keys;
mod logs;
mod members;
mod steer;
mod stream;
mod submit;
mod watch;

use std::future::Future;
use std::time::Instant;

use bellwether_wire::v1::scheduler_client::SchedulerClient;
use tonic::{Response, Status};

use crate::connection::{Link, MESSAGE_BYTES_MAX};
use crate::error::ClientError;
use crate::fleet::{Asked, Fleet, SEARCH_PAUSE_MAX};

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
///
/// The address may be a list with commas: then whoever leads is asked, and found again when that
/// changes.
#[derive(Debug, Clone)]
pub struct Client {
    settings: std::sync::Arc<Settings>,
}

#[derive(Debug)]
struct Settings {
    fleet: Fleet,
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

    /// Where the scheduler is, or the schedulers are.
    pub fn address(&self) -> &str {
        self.settings.fleet.addresses()
    }

    fn link(&self, asked: &Asked) -> SchedulerClient<Link> {
        SchedulerClient::new(asked.link.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// Tries until it is answered, refused, or out of patience.
    async fn call<T, F>(&self, send: impl Fn(SchedulerClient<Link>) -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let Settings { fleet, builder } = &*self.settings;
        let begun = Instant::now();
        let mut failures = 0;
        let mut renewed = false;
        loop {
            let asked = fleet.ask();
            let sent = self.unless_deposed(&asked, send(self.link(&asked)));
            let error = match sent.await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => self.error_of(&asked, &status),
            };
            let denied = matches!(error, ClientError::Denied(_));
            if denied && !renewed && asked.connection.credentials.renew() {
                renewed = true;
                continue;
            }
            failures += 1;
            let known = self.go_elsewhere(&asked, &error);
            let pause = builder.backoff.pause(if known { 1 } else { failures });
            let pause = if fleet.is_single() { pause } else { pause.min(SEARCH_PAUSE_MAX) };
            let patient = begun.elapsed() + pause < builder.patience;
            if !error.is_transient() || !patient {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks another next time, if this one could not help. True if somebody was named.
    fn go_elsewhere(&self, asked: &Asked, error: &ClientError) -> bool {
        let fleet = &self.settings.fleet;
        match error {
            ClientError::NotLeader { leader: Some(leader), .. } if fleet.follow(leader, asked) => {
                true
            }
            ClientError::NotLeader { .. } | ClientError::Unreachable { .. } => {
                fleet.pass(asked);
                false
            }
            ClientError::Refused(_)
            | ClientError::Denied(_)
            | ClientError::BadAddress { .. }
            | ClientError::BadToken
            | ClientError::Protocol(_) => false,
        }
    }

    /// What is waited for, unless another leads before it comes: then it may never come.
    async fn unless_deposed<T>(
        &self,
        asked: &Asked,
        waited_for: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        tokio::select! {
            biased;
            came = waited_for => came,
            () = self.settings.fleet.elsewhere(asked) => {
                Err(Status::unavailable("another scheduler leads now"))
            }
        }
    }

    fn error(&self, status: &Status) -> ClientError {
        self.error_of(&self.settings.fleet.ask(), status)
    }

    fn error_of(&self, asked: &Asked, status: &Status) -> ClientError {
        ClientError::from_status(&asked.connection.address, status)
    }
}
