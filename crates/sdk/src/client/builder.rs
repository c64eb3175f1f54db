//! Settings of a client.

use std::sync::Arc;
use std::time::Duration;

use super::{Client, Settings};
use crate::backoff::Backoff;
use crate::connection::Security;
use crate::error::ClientError;
use crate::fleet::Fleet;

/// Submissions in one message of [`Client::submit_many`], unless told otherwise.
const BATCH_JOBS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct ClientBuilder {
    address: String,
    security: Security,
    pub(super) backoff: Backoff,
    pub(super) patience: Duration,
    pub(super) batch: usize,
}

impl ClientBuilder {
    pub(super) fn new(address: String) -> ClientBuilder {
        ClientBuilder {
            address,
            security: Security::default(),
            backoff: Backoff::default(),
            patience: Duration::from_secs(30),
            batch: BATCH_JOBS,
        }
    }

    #[must_use]
    pub fn security(mut self, security: Security) -> ClientBuilder {
        self.security = security;
        self
    }

    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> ClientBuilder {
        self.security.token = Some(token.into());
        self
    }

    /// How long calls keep trying to reach the scheduler.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> ClientBuilder {
        self.patience = patience;
        self
    }

    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> ClientBuilder {
        self.backoff = backoff;
        self
    }

    /// Submissions in one message when many are submitted.
    #[must_use]
    pub fn batch(mut self, jobs: usize) -> ClientBuilder {
        self.batch = jobs.max(1);
        self
    }

    /// Fails if nobody answers at the address.
    pub async fn connect(self) -> Result<Client, ClientError> {
        let fleet = Fleet::new(&self.address, &self.security)?;
        fleet.connect().await?;
        Ok(self.client(fleet))
    }

    /// Connects with the first call. It must be called within a Tokio runtime.
    pub fn lazy(self) -> Result<Client, ClientError> {
        let fleet = Fleet::new(&self.address, &self.security)?;
        Ok(self.client(fleet))
    }

    fn client(self, fleet: Fleet) -> Client {
        Client { settings: Arc::new(Settings { fleet, builder: self }) }
    }
}
