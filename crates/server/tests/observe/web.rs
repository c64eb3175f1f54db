//! The least of HTTP that these tests need.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bellwether_server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::fixture::DEADLINE;

const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The metrics of a scheduler, for whoever shows its token.
pub(crate) async fn metrics(server: &Server) -> Result<String> {
    let (address, token) = (server.http_address(), server.local_token().context("it has one")?);
    let bearer = format!("authorization: Bearer {token}");
    let request = format!("GET /metrics HTTP/1.0\r\nhost: {address}\r\n{bearer}\r\n\r\n");
    send(address, &request).await
}

/// The body of a successful answer. HTTP/1.0, so that it comes in one piece.
pub(crate) async fn get(address: SocketAddr, path: &str) -> Result<String> {
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n");
    send(address, &request).await.with_context(|| format!("GET {path}"))
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &str) -> Result<String> {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {length}");
    send(address, &format!("{head}\r\n\r\n{body}")).await.with_context(|| body.to_owned())
}

async fn send(address: SocketAddr, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await??;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        bail!("{head}\n{body}");
    }
    Ok(body.to_owned())
}

/// Looks until there is something to see.
pub(crate) async fn wait_for<T, F>(what: &str, mut look: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let mut last = None;
    let wait = async {
        loop {
            match look().await {
                Ok(Some(seen)) => return seen,
                Ok(None) => last = None,
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    };
    match tokio::time::timeout(DEADLINE, wait).await {
        Ok(seen) => Ok(seen),
        Err(_) => bail!("in vain: {what}; last {last:?}"),
    }
}

/// As it goes into an address.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
