//! HTTP by hand, so that a request can say whatever a test wants.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use bellwether_sdk::Security;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{DEADLINE, Site};

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("not JSON: {}", self.body))
    }

    /// The code of a problem; nothing if it is none.
    pub(crate) fn code(&self) -> String {
        let code = self.json().ok().map(|problem| problem["code"].clone());
        code.and_then(|code| code.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// One request on a connection of its own. `host` is among the headers, or there is none.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Answer> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() || method != "GET" {
        head += &format!("content-length: {}\r\n", body.len());
    }
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("{head}\r\n").as_bytes()).await?;
        // Whoever is refused early need not be heard to the end.
        drop(stream.write_all(body).await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        anyhow::Ok(answer)
    };
    let answer = tokio::time::timeout(DEADLINE, exchange).await??;
    let answer = String::from_utf8(answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split_whitespace().nth(1).context("no status")?.parse()?;
    Ok(Answer { status, body: body.to_owned() })
}

impl Site {
    /// What shows the token that the scheduler has made, as clients find it by themselves.
    pub(crate) fn bearer(&self) -> Result<String> {
        let token = Security::default().token_for(&self.url())?;
        Ok(format!("Bearer {}", token.context("the scheduler has made a token")?))
    }
}

/// As somebody who may.
pub(crate) async fn get(site: &Site, path: &str) -> Result<Answer> {
    let bearer = site.bearer()?;
    let headers = [("host", "localhost"), ("authorization", &bearer)];
    send(site.http, "GET", path, &headers, b"").await
}

/// As somebody who may.
pub(crate) async fn post(site: &Site, path: &str, body: &[u8]) -> Result<Answer> {
    let bearer = site.bearer()?;
    let json = ("content-type", "application/json");
    let headers = [("host", "localhost"), ("authorization", &bearer), json];
    send(site.http, "POST", path, &headers, body).await
}
