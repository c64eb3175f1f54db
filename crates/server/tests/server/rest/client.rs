//! A plain HTTP client: one connection a request.

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use bellwether_server::Server;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::fixture::{DEADLINE, Fixture};

/// Larger than any answer that a test asks for.
const BODY_BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("not JSON: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The code of a problem, with its status; checks that it is one.
    pub(crate) fn problem(&self) -> Result<(u16, String)> {
        anyhow::ensure!(self.header("content-type") == "application/problem+json", "{self:?}");
        let problem = self.json()?;
        anyhow::ensure!(problem["status"] == self.status.as_u16(), "{problem}");
        let code = problem["code"].as_str().context("a problem has a code")?;
        anyhow::ensure!(problem["type"] == format!("urn:bellwether:problem:{code}"), "{problem}");
        anyhow::ensure!(problem["detail"].is_string() && problem["title"].is_string());
        Ok((self.status.as_u16(), code.to_owned()))
    }
}

/// Shows the token that the scheduler has made, unless the request has another.
pub(crate) async fn send(server: &Server, mut request: Request<Body>) -> Result<Answer> {
    if let Some(token) = server.local_token()
        && !request.headers().contains_key(header::AUTHORIZATION)
    {
        let bearer = format!("Bearer {token}").parse()?;
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
    }
    let answer = async {
        let stream = TcpStream::connect(server.http_address()).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let (parts, body) = sender.send_request(request).await?.into_parts();
        let body = to_bytes(Body::new(body), BODY_BYTES_MAX).await?;
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    };
    tokio::time::timeout(DEADLINE, answer).await?
}

pub(crate) fn request(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::HOST, "localhost")
}

impl Fixture {
    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        send(&self.server, request(Method::GET, path).body(Body::empty())?).await
    }

    /// A POST with a body of JSON.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Result<Answer> {
        self.with_json(Method::POST, path, body).await
    }

    pub(crate) async fn with_json(
        &self,
        method: Method,
        path: &str,
        body: impl Into<Body>,
    ) -> Result<Answer> {
        let request = request(method, path).header(header::CONTENT_TYPE, "application/json");
        send(&self.server, request.body(body.into())?).await
    }

    /// A POST without a body.
    pub(crate) async fn press(&self, path: &str) -> Result<Answer> {
        send(&self.server, request(Method::POST, path).body(Body::empty())?).await
    }
}
