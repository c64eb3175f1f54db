//! How the scheduler is reached: address, limits, TLS and token.

use std::time::Duration;

use bellwether_wire::local_token;
use tonic::codegen::http::uri::InvalidUri;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Uri};

use crate::credentials::{Credentials, from_environment};
use crate::error::{ClientError, in_our_words};

/// The largest message that is taken. The scheduler's own limit is lower.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A peer that is gone without a word is noticed after this and the timeout.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Windows large enough that a batch never waits for an update of them.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

/// What proves who we are, and who the scheduler is.
#[derive(Clone, Default)]
pub struct Security {
    /// None: that of `BELLWETHER_TOKEN`, or else the one that a scheduler of ours on this machine has
    /// left for us.
    pub token: Option<String>,
    /// PEM; needed for an `https` address whose certificate was made in-house.
    pub ca_certificate: Option<String>,
    /// A certificate in our own name and its key, both PEM, for schedulers that trust the authority.
    pub identity: Option<ClientIdentity>,
}

/// What we show of ourselves when we connect.
#[derive(Clone)]
pub struct ClientIdentity {
    pub certificate: String,
    pub key: String,
}

impl std::fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Security")
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("ca_certificate", &self.ca_certificate.is_some())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

impl Security {
    /// The token that is shown to a scheduler at this address, if there is one.
    pub fn token_for(&self, address: &str) -> Result<Option<String>, ClientError> {
        if let Some(token) = self.token.clone().or_else(from_environment) {
            return Ok(Some(token));
        }
        // Of several schedulers the first.
        let address = address.split(',').next().unwrap_or(address).trim();
        let bad = |reason: String| ClientError::BadAddress { address: address.to_owned(), reason };
        let uri: Uri = full(address).parse().map_err(|error: InvalidUri| bad(error.to_string()))?;
        let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or_default());
        local_token::find(host, port).map_err(|error| ClientError::Denied(error.to_string()))
    }
}

fn full(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}

pub(crate) type Link = InterceptedService<Channel, Credentials>;

#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) address: String,
    endpoint: Endpoint,
    pub(crate) credentials: Credentials,
}

impl Connection {
    pub(crate) fn new(address: &str, security: &Security) -> Result<Connection, ClientError> {
        let bad = |reason: String| ClientError::BadAddress { address: address.to_owned(), reason };
        let mut endpoint = Endpoint::from_shared(full(address))
            .map_err(|error| bad(error.to_string()))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        let scheme = endpoint.uri().scheme_str().unwrap_or_default();
        if !["http", "https"].contains(&scheme) {
            return Err(bad("it must begin with http:// or https://".to_owned()));
        }
        if scheme == "https" {
            let mut tls = ClientTlsConfig::new();
            if let Some(pem) = &security.ca_certificate {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            if let Some(ClientIdentity { certificate, key }) = &security.identity {
                tls = tls.identity(Identity::from_pem(certificate, key));
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| bad(error.to_string()))?;
        }
        let credentials = Credentials::new(security.token.as_deref(), endpoint.uri());
        let credentials = credentials.map_err(|_| ClientError::BadToken)?;
        Ok(Connection { address: address.to_owned(), endpoint, credentials })
    }

    /// Connects now, or says why not.
    pub(crate) async fn connect(&self) -> Result<Link, ClientError> {
        let channel = self.endpoint.connect().await.map_err(|error| self.unreachable(&error))?;
        Ok(InterceptedService::new(channel, self.credentials.clone()))
    }

    /// Connects with the first call, and again whenever that is needed.
    pub(crate) fn lazy(&self) -> Link {
        InterceptedService::new(self.endpoint.connect_lazy(), self.credentials.clone())
    }

    fn unreachable(&self, error: &tonic::transport::Error) -> ClientError {
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            reason = error.to_string();
            source = error.source();
        }
        ClientError::Unreachable { address: self.address.clone(), reason: in_our_words(&reason) }
    }
}
