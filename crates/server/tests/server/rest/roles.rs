//! TLS, tokens and roles, for every operation in the table.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::body::{Body, to_bytes};
use axum::http::{Method, StatusCode};
use bellwether_server::edges::security::access::{self, Access};
use bellwether_server::edges::security::tokens::Role;
use bellwether_server::{Server, ServerConfig};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::client::request;
use crate::papers::{Papers, papers};

struct Secured {
    server: Server,
    tls: TlsConnector,
    tokens: Vec<(Role, String)>,
    _folder: tempfile::TempDir,
}

async fn secured() -> Result<Secured> {
    let Papers { certificate, tokens, config, folder } = papers()?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = Server::start(ServerConfig { http: "0.0.0.0:0".parse()?, ..config }).await?;
    Ok(Secured { server, tls: TlsConnector::from(Arc::new(client)), tokens, _folder: folder })
}

impl Secured {
    async fn ask(&self, method: &str, path: &str, token: Option<&str>) -> Result<StatusCode> {
        let port = self.server.http_address().port();
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let stream = self.tls.connect(ServerName::try_from("localhost")?, stream).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut wanted = request(Method::from_bytes(method.as_bytes())?, path);
        if let Some(token) = token {
            wanted = wanted.header("authorization", format!("Bearer {token}"));
        }
        let wanted = wanted.header("content-type", "application/json");
        let answer = sender.send_request(wanted.body(Body::from("{"))?).await?;
        let status = answer.status();
        if !path.ends_with("/events") {
            to_bytes(Body::new(answer.into_body()), 1 << 20).await?;
        }
        Ok(status)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_for_its_roles_alone() -> Result<()> {
    let secured = secured().await?;
    let mut checked = 0;
    for (method, route) in access::operations() {
        let path = route.replace("{id}", "x").replace("{type}", "x").replace("{*path}", "x");
        let access = access::operation(method, route).context("it is in the table")?;
        let nobody = secured.ask(method, &path, None).await?;
        let guess = secured.ask(method, &path, Some("guess")).await?;
        let open = access == Access::Everybody;
        assert_eq!(nobody != StatusCode::UNAUTHORIZED, open, "{method} {route} without a token");
        assert_eq!(guess != StatusCode::UNAUTHORIZED, open, "{method} {route} with a guess");
        for (role, token) in &secured.tokens {
            let status = secured.ask(method, &path, Some(token)).await?;
            let may = match access {
                Access::Everybody | Access::Holders => true,
                Access::Roles(roles) => roles.contains(role),
            };
            assert_eq!(
                status != StatusCode::FORBIDDEN,
                may,
                "{method} {route} as {role:?}: {status}"
            );
            assert_ne!(status, StatusCode::UNAUTHORIZED);
        }
        checked += 1;
    }
    assert!(checked > 30, "{checked}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_token_is_not_told_what_exists() -> Result<()> {
    let secured = secured().await?;
    for (method, path) in [("GET", "/nothing"), ("DELETE", "/scheduler/jobs")] {
        assert_eq!(secured.ask(method, path, None).await?, 401);
    }
    let (_, token) = &secured.tokens[0];
    assert_eq!(secured.ask("GET", "/nothing", Some(token)).await?, 404);
    assert_eq!(secured.ask("DELETE", "/scheduler/jobs", Some(token)).await?, 405);
    Ok(())
}
