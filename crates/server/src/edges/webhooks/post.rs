//! One message to one receiver: resolved first, and sent to the address that was looked at.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use hyper_rustls::ConfigBuilderExt as _;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use super::address::is_public;
use super::signature::sign;
use crate::config::{Secret, Webhook};
use crate::event_loop::clock;

/// How long one attempt may take in all.
const ATTEMPT_WITHIN: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
#[error("webhooks can't speak TLS: {0}")]
pub struct TlsSetupError(#[from] rustls::Error);

#[derive(Debug, thiserror::Error)]
pub(super) enum NotPosted {
    #[error("{host} could not be resolved: {source}")]
    Unresolved { host: String, source: std::io::Error },
    #[error(
        "{host} is {address}, which is loopback, link-local or private; set allow_private if that \
         is meant"
    )]
    Inside { host: String, address: SocketAddr },
    #[error("{host} has no address")]
    Nowhere { host: String },
    #[error("the connection failed: {0}")]
    Connection(#[from] std::io::Error),
    #[error("the exchange failed: {0}")]
    Exchange(#[from] hyper::Error),
    #[error("it answered {0}")]
    Refused(StatusCode),
    #[error("it took too long")]
    Late(#[from] tokio::time::error::Elapsed),
    #[error("the message could not be built: {0}")]
    Request(#[from] http::Error),
}

pub(super) struct Message<'a> {
    /// The same at every attempt.
    pub(super) id: &'a str,
    pub(super) body: &'a [u8],
}

pub(super) struct Poster {
    uri: Uri,
    host: String,
    port: u16,
    secret: Secret,
    allow_private: bool,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Poster {
    pub(super) fn new(hook: &Webhook) -> Result<Poster, TlsSetupError> {
        let uri: Uri = hook.url.parse().expect("it was parsed when it was read");
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let secure = uri.scheme_str() == Some("https");
        let tls = match ServerName::try_from(host.clone()) {
            Ok(name) if secure => Some((connector()?, name)),
            _ => None,
        };
        Ok(Poster {
            port: uri.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            uri,
            host,
            secret: hook.secret.clone(),
            allow_private: hook.allow_private,
            tls,
        })
    }

    pub(super) async fn post(&self, message: &Message<'_>) -> Result<(), NotPosted> {
        tokio::time::timeout(ATTEMPT_WITHIN, self.attempt(message)).await?
    }

    async fn attempt(&self, message: &Message<'_>) -> Result<(), NotPosted> {
        let address = self.resolve().await?;
        let stream = TcpStream::connect(address).await?;
        let status = match &self.tls {
            None => exchange(stream, self.request(message)?).await?,
            Some((tls, name)) => {
                let stream = tls.connect(name.clone(), stream).await?;
                exchange(stream, self.request(message)?).await?
            }
        };
        // A redirect is no success: nobody has vouched for where it leads.
        if status.is_success() { Ok(()) } else { Err(NotPosted::Refused(status)) }
    }

    /// The name is resolved anew each time, and what is connected to is what was checked: a name
    /// that points to another address a moment later gains nothing.
    async fn resolve(&self) -> Result<SocketAddr, NotPosted> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let host = || self.host.clone();
        let found = found.map_err(|source| NotPosted::Unresolved { host: host(), source })?;
        let mut inside = None;
        for address in found {
            if self.allow_private || is_public(address.ip()) {
                return Ok(address);
            }
            inside = Some(address);
        }
        Err(match inside {
            Some(address) => NotPosted::Inside { host: host(), address },
            None => NotPosted::Nowhere { host: host() },
        })
    }

    fn request(&self, message: &Message<'_>) -> Result<Request<Body>, http::Error> {
        let timestamp = clock::wall().0 / 1_000_000;
        let signature = sign(&self.secret, message.id, timestamp, message.body);
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        // Credentials in the address are not the business of the Host header.
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, host)
            .header(USER_AGENT, concat!("bellwether/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/cloudevents+json")
            .header(CONTENT_LENGTH, message.body.len())
            .header("webhook-id", message.id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(Body::from(message.body.to_vec()))
    }
}

async fn exchange<S>(stream: S, request: Request<Body>) -> Result<StatusCode, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the exchange: what else the receiver has to say is not read.
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await;
    connection.abort();
    Ok(answer?.status())
}

fn connector() -> Result<TlsConnector, TlsSetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_webpki_roots()
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
