//! The connection to the server, made when it is needed and made anew when it is lost, and what the
//! server's errors mean.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use lapin::options::ConfirmSelectOptions;
use lapin::protocol::AMQPError;
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{Connection, ConnectionProperties, ErrorKind};
use tokio::sync::Mutex;

use crate::error::{BrokerError, TRUST, is_distrust};
use crate::settings::RabbitMqSettings;

/// A server that is silent for twice this long is gone.
const HEARTBEAT_SECONDS: u16 = 10;

/// AMQP's code for a connection that ends without an error of the other side.
const CLOSED_BY_US: u16 = 200;

#[derive(Debug)]
pub(super) struct Server {
    pub(super) settings: RabbitMqSettings,
    timeout: Duration,
    // Behind a lock so that a lost connection is made anew once, not by everybody at once.
    link: Mutex<Option<Arc<Link>>>,
}

/// One connection, until it is lost.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: Connection,
    /// For publishing, with confirms.
    pub(super) publisher: lapin::Channel,
    /// Queues that are known to exist.
    pub(super) declared: Mutex<HashSet<String>>,
}

impl Link {
    fn is_up(&self) -> bool {
        self.connection.status().connected() && self.publisher.status().connected()
    }
}

impl Server {
    pub(super) fn new(settings: RabbitMqSettings, timeout: Duration) -> Self {
        Self { settings, timeout, link: Mutex::default() }
    }

    pub(super) fn name(&self) -> String {
        format!("rabbitmq at {}", self.settings.address)
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) async fn link(&self) -> Result<Arc<Link>, BrokerError> {
        let mut slot = self.link.lock().await;
        if let Some(link) = slot.as_ref().filter(|link| link.is_up()) {
            return Ok(Arc::clone(link));
        }
        *slot = None;
        let link = Arc::new(self.within(self.connect()).await?);
        Ok(Arc::clone(slot.insert(link)))
    }

    /// Forgets a connection that did not answer.
    pub(super) async fn drop_link(&self) {
        *self.link.lock().await = None;
    }

    /// Ends a connection on which something was begun that nobody will take up.
    pub(super) async fn close(&self, link: &Link) {
        self.drop_link().await;
        let closing = link.connection.close(CLOSED_BY_US, "no answer in time".into());
        // It is of no use any more, whatever becomes of this.
        drop(tokio::time::timeout(self.timeout, closing).await);
    }

    async fn connect(&self) -> Result<Link, BrokerError> {
        let explain = |error: lapin::Error| self.failure(&error);
        let uri = self.uri();
        let properties = ConnectionProperties::default().with_connection_name("bellwether".into());
        let runtime = lapin::runtime::default_runtime().map_err(explain)?;
        let connection =
            Connection::connect_uri_with_config(uri, properties, self.trust()?, runtime)
                .await
                .map_err(explain)?;
        let publisher = connection.create_channel().await.map_err(explain)?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await.map_err(explain)?;
        Ok(Link { connection, publisher, declared: Mutex::default() })
    }

    fn trust(&self) -> Result<OwnedTLSConfig, BrokerError> {
        let authorities = self.settings.tls.as_ref().and_then(|tls| tls.authorities.as_ref());
        let Some(path) = authorities else { return Ok(OwnedTLSConfig::default()) };
        let pem = std::fs::read_to_string(path).map_err(|error| {
            BrokerError::misuse(format!("can't read {}: {error}", path.display()))
        })?;
        Ok(OwnedTLSConfig { identity: None, cert_chain: Some(pem) })
    }

    fn uri(&self) -> AMQPUri {
        let settings = &self.settings;
        let scheme = if settings.tls.is_some() { AMQPScheme::AMQPS } else { AMQPScheme::AMQP };
        let (username, password) = match &settings.credentials {
            Some(credentials) => (
                credentials.user.clone().unwrap_or_else(|| "guest".to_owned()),
                credentials.password.clone(),
            ),
            None => ("guest".to_owned(), "guest".to_owned()),
        };
        AMQPUri {
            scheme,
            authority: AMQPAuthority {
                userinfo: AMQPUserInfo { username, password },
                host: settings.address.host.clone(),
                port: settings.address.port,
            },
            vhost: settings.virtual_host.clone(),
            query: AMQPQueryString {
                heartbeat: Some(HEARTBEAT_SECONDS),
                connection_timeout: u64::try_from(self.timeout.as_millis()).ok(),
                ..AMQPQueryString::default()
            },
        }
    }

    /// Waits no longer than the server may take.
    pub(super) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, BrokerError>>,
    ) -> Result<T, BrokerError> {
        match tokio::time::timeout(self.timeout, work).await {
            Ok(result) => result,
            Err(_) => Err(BrokerError::lost(self.name(), "no answer in time")),
        }
    }

    /// What an error means for the caller.
    pub(super) fn failure(&self, error: &lapin::Error) -> BrokerError {
        let way_out = match error.kind() {
            _ if is_distrust(error) => TRUST,
            ErrorKind::ProtocolError(amqp) => match amqp.get_id() {
                403 => "correct user and password, and let the user configure, read and write",
                406 if is_of_another_kind(amqp) => {
                    "delete what has this name, or choose another stream_prefix"
                }
                530 => "make the virtual host and let the user into it",
                // A queue that is gone is made again. One that a server has not yet brought up, and
                // its streams come some seconds after its port, is told in several ways.
                _ => return BrokerError::lost(self.name(), error),
            },
            ErrorKind::InvalidProtocolVersion(_) | ErrorKind::ParsingError(_) => {
                "this is not RabbitMQ; correct host and port"
            }
            ErrorKind::AuthProviderError(_) => "correct user and password",
            _ => return BrokerError::lost(self.name(), error),
        };
        BrokerError::refused(self.name(), error, way_out)
    }
}

/// Whether there is a queue or exchange of this name that was declared in another way. The same code also
/// stands for what passes: a stream that is not up yet, a message that was held for too long.
fn is_of_another_kind(error: &AMQPError) -> bool {
    error.get_message().as_str().contains("inequivalent arg")
}

/// Whether the server says that there is no such queue, and not that it can't be reached at present.
pub(super) fn is_absent(error: &lapin::Error) -> bool {
    const NOT_FOUND: u16 = 404;
    matches!(error.kind(), ErrorKind::ProtocolError(amqp)
        if amqp.get_id() == NOT_FOUND && amqp.get_message().as_str().contains("no queue"))
}
