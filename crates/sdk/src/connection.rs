//! How the scheduler is reached: address, limits, TLS and token.

use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

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
    pub token: Option<String>,
    /// PEM; needed for an `https` address whose certificate was made in-house.
    pub ca_certificate: Option<String>,
}

impl std::fmt::Debug for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Security")
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("ca_certificate", &self.ca_certificate.is_some())
            .finish()
    }
}

pub(crate) type Link = InterceptedService<Channel, Credentials>;

/// Adds the token to every call.
#[derive(Debug, Clone)]
pub(crate) struct Credentials(Option<MetadataValue<Ascii>>);

impl Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) address: String,
    endpoint: Endpoint,
    credentials: Credentials,
}

impl Connection {
    pub(crate) fn new(address: &str, security: &Security) -> Result<Connection, ClientError> {
        let bad = |reason: String| ClientError::BadAddress { address: address.to_owned(), reason };
        let full =
            if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let mut endpoint = Endpoint::from_shared(full)
            .map_err(|error| bad(error.to_string()))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        if endpoint.uri().scheme_str() == Some("https") {
            let mut tls = ClientTlsConfig::new();
            if let Some(pem) = &security.ca_certificate {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| bad(error.to_string()))?;
        }
        let token = security
            .token
            .as_ref()
            .map(|token| format!("Bearer {token}").parse())
            .transpose()
            .map_err(|_| bad("the token has characters that can't be sent".to_owned()))?;
        Ok(Connection { address: address.to_owned(), endpoint, credentials: Credentials(token) })
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
