//! Connections to the server, and what its errors mean.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisError, ServerErrorKind, TlsCertificates,
};
use tokio::sync::Mutex;

use crate::error::{BrokerError, TRUST, is_distrust};
use crate::settings::RedisSettings;

/// The server's address, and how to make connections to it.
#[derive(Debug)]
pub(super) struct Server {
    client: Client,
    name: String,
    timeout: Duration,
}

impl Server {
    pub(super) fn new(settings: &RedisSettings, timeout: Duration) -> Result<Self, BrokerError> {
        let name = format!("redis at {}", settings.address);
        let misuse = |error: RedisError| BrokerError::misuse(format!("{name}: {error}"));
        let (host, port) = (settings.address.host.clone(), settings.address.port);
        let address = match settings.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        };
        let mut who = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP2)
            .set_skip_set_lib_name()
            .set_db(settings.db);
        if let Some(credentials) = &settings.credentials {
            who = who.set_password(&credentials.password);
            if let Some(user) = &credentials.user {
                who = who.set_username(user);
            }
        }
        let info = address.into_connection_info().map_err(misuse)?.set_redis_settings(who);
        let authorities = settings.tls.as_ref().and_then(|tls| tls.authorities.as_ref());
        let client = match authorities {
            None => Client::open(info).map_err(misuse)?,
            Some(path) => {
                let pem = std::fs::read(path).map_err(|error| {
                    BrokerError::misuse(format!("can't read {}: {error}", path.display()))
                })?;
                let trusted = TlsCertificates { client_tls: None, root_cert: Some(pem) };
                Client::build_with_tls(info, trusted).map_err(misuse)?
            }
        };
        Ok(Self { client, name, timeout })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> Result<MultiplexedConnection, BrokerError> {
        let patience = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(Some(self.timeout));
        self.client
            .get_multiplexed_async_connection_with_config(&patience)
            .await
            .map_err(|error| self.failure(&error))
    }

    /// What an error means for the caller.
    pub(super) fn failure(&self, error: &RedisError) -> BrokerError {
        let way_out = match error.kind() {
            _ if is_distrust(error) => TRUST,
            ErrorKind::AuthenticationFailed => "correct user and password",
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
                "this is not Redis; correct host and port"
            }
            ErrorKind::InvalidClientConfig => "correct host, port and TLS",
            ErrorKind::Server(ServerErrorKind::NoPerm) => {
                "allow this user the stream commands on the keys with the prefix"
            }
            ErrorKind::Server(ServerErrorKind::ReadOnly) => "connect to the primary",
            ErrorKind::Server(ServerErrorKind::ResponseError) => {
                "use Redis 6.2 or newer, with a database of this number"
            }
            ErrorKind::Extension => match error.code() {
                Some("NOAUTH" | "WRONGPASS") => "correct user and password",
                Some("WRONGTYPE") => {
                    "a key with this name is no stream; delete it or choose another stream_prefix"
                }
                _ => return BrokerError::lost(&self.name, error),
            },
            _ => return BrokerError::lost(&self.name, error),
        };
        BrokerError::refused(&self.name, error, way_out)
    }
}

/// The connection for all that does not block, made when it is needed.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) server: Arc<Server>,
    // Behind a lock so that a lost connection is made anew once, not by everybody at once.
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl Link {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, connection: Mutex::new(None) }
    }

    pub(super) async fn connection(&self) -> Result<MultiplexedConnection, BrokerError> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = &*slot {
            return Ok(connection.clone());
        }
        let connection = self.server.connect().await?;
        Ok(slot.insert(connection).clone())
    }

    /// Forgets a connection that failed, and says what the failure means.
    pub(super) async fn failed(&self, error: &RedisError) -> BrokerError {
        let failure = self.server.failure(error);
        if matches!(failure, BrokerError::Lost { .. }) {
            *self.connection.lock().await = None;
        }
        failure
    }
}
