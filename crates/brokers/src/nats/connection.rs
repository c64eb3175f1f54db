//! The connection to the server, made when it is needed. Once made, the client keeps it up by
//! itself.

use std::collections::HashSet;
use std::time::Duration;

use async_nats::jetstream::{Context, ContextBuilder};
use async_nats::{ConnectErrorKind, ConnectOptions, Event};
use tokio::sync::{Mutex, MutexGuard, watch};

use super::{Names, stream};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::{BrokerError, TRUST, is_distrust};
use crate::settings::NatsSettings;

#[derive(Debug)]
pub(super) struct Server {
    settings: NatsSettings,
    timeout: Duration,
    // Behind a lock so that the connection is made once, not by everybody at once.
    link: Mutex<Link>,
    // Held while something is made: servers before 2.10 may make one stream twice when asked twice at
    // the same time, and messages then go to the one and are read from the other.
    making: Mutex<()>,
    /// Counts how often the connection broke.
    breaks: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Link {
    context: Option<Context>,
    /// Subjects that some stream is known to keep.
    kept: HashSet<String>,
}

impl Server {
    pub(super) fn new(settings: NatsSettings, timeout: Duration) -> Self {
        Self {
            settings,
            timeout,
            link: Mutex::default(),
            making: Mutex::default(),
            breaks: watch::Sender::new(0),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("nats at {}", self.settings.address)
    }

    /// Waits for its turn to make a stream or a consumer.
    pub(super) async fn turn_to_make(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    pub(super) async fn context(&self) -> Result<Context, BrokerError> {
        let mut link = self.link.lock().await;
        if let Some(context) = &link.context {
            return Ok(context.clone());
        }
        let context = self.connect().await?;
        Ok(link.context.insert(context).clone())
    }

    /// The connection, with a stream behind the subject of this channel.
    pub(super) async fn context_for(
        &self,
        names: &Names,
        channel: &Channel,
    ) -> Result<Context, BrokerError> {
        let context = self.context().await?;
        let subject = names.subject(channel);
        if !self.link.lock().await.kept.contains(&subject) {
            stream::make(names, self, &context, channel).await?;
            self.link.lock().await.kept.insert(subject);
        }
        Ok(context)
    }

    /// Something failed that may have to do with streams that are gone: look again.
    pub(super) async fn doubt(&self) {
        self.link.lock().await.kept.clear();
    }

    /// Waits for answers to what has been sent. If the connection breaks they may never come, and the
    /// client would not say so before the time is up.
    pub(super) async fn unless_broken<T>(
        &self,
        mut breaks: watch::Receiver<u64>,
        work: impl Future<Output = Result<T, BrokerError>>,
    ) -> Result<T, BrokerError> {
        tokio::select! {
            result = work => result,
            changed = breaks.changed() => match changed {
                Ok(()) => Err(self.lost("the connection broke before the answer came")),
                Err(_) => Err(self.lost("the connection was closed")),
            },
        }
    }

    /// To be asked for before something is sent whose answer matters.
    pub(super) fn breaks(&self) -> watch::Receiver<u64> {
        self.breaks.subscribe()
    }

    async fn connect(&self) -> Result<Context, BrokerError> {
        let breaks = self.breaks.clone();
        let mut options = ConnectOptions::new()
            .name("bellwether")
            .connection_timeout(self.timeout)
            .request_timeout(Some(self.timeout))
            .subscription_capacity(1 << 17)
            .event_callback(move |event| {
                if matches!(event, Event::Disconnected) {
                    breaks.send_modify(|count| *count += 1);
                }
                std::future::ready(())
            })
            .reconnect_delay_callback(|attempts| {
                let failures = u32::try_from(attempts).unwrap_or(u32::MAX);
                Backoff::default().after(failures.saturating_add(1))
            });
        if let Some(credentials) = &self.settings.credentials {
            let password = credentials.password.clone();
            options = match &credentials.user {
                Some(user) => options.user_and_password(user.clone(), password),
                None => options.token(password),
            };
        }
        if let Some(tls) = &self.settings.tls {
            options = options.require_tls(true);
            if let Some(path) = &tls.authorities {
                options = options.add_root_certificates(path.clone());
            }
        }
        let address = self.settings.address.to_string();
        let client = options.connect(address).await.map_err(|error| {
            let way_out = match error.kind() {
                _ if is_distrust(&error) => TRUST,
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    "correct user and password, or token"
                }
                ConnectErrorKind::ServerParse => "correct host and port",
                ConnectErrorKind::Tls => "correct TLS, or the authorities to trust",
                ConnectErrorKind::Io if is_no_nats(&error) => {
                    "this is not NATS; correct host and port"
                }
                ConnectErrorKind::Io
                | ConnectErrorKind::Dns
                | ConnectErrorKind::TimedOut
                | ConnectErrorKind::MaxReconnects => {
                    return BrokerError::lost(self.name(), error);
                }
            };
            BrokerError::refused(self.name(), error, way_out)
        })?;
        Ok(ContextBuilder::new().timeout(self.timeout).ack_timeout(self.timeout).build(client))
    }

    pub(super) fn lost(&self, error: impl ToString) -> BrokerError {
        BrokerError::lost(self.name(), error)
    }

    pub(super) fn refused(&self, error: impl ToString, way_out: &str) -> BrokerError {
        BrokerError::refused(self.name(), error, way_out)
    }
}

/// Whether the other side answered, but not as NATS does.
fn is_no_nats(error: &async_nats::ConnectError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return matches!(
                io.kind(),
                std::io::ErrorKind::InvalidInput
                    | std::io::ErrorKind::InvalidData
                    | std::io::ErrorKind::Other
            );
        }
        cause = error.source();
    }
    false
}
