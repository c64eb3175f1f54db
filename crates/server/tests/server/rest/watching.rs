//! A client of server-sent events.

use anyhow::{Context as _, Result, ensure};
use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use futures_util::StreamExt as _;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::client::request;
use crate::fixture::{DEADLINE, Fixture};

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

pub(crate) struct Watching {
    body: BodyDataStream,
    text: String,
}

impl Watching {
    pub(crate) async fn start(
        fixture: &Fixture,
        path: &str,
        last_id: Option<&str>,
    ) -> Result<Watching> {
        let stream = TcpStream::connect(fixture.server.http_address()).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let token = fixture.server.local_token().context("it has made one")?;
        let mut wanted = request(Method::GET, path);
        wanted = wanted.header("authorization", format!("Bearer {token}"));
        if let Some(id) = last_id {
            wanted = wanted.header("last-event-id", id);
        }
        let answer = sender.send_request(wanted.body(Body::empty())?).await?;
        ensure!(answer.status() == 200, "{answer:?}");
        ensure!(answer.headers()["content-type"] == "text/event-stream");
        Ok(Watching { body: Body::new(answer.into_body()).into_data_stream(), text: String::new() })
    }

    /// The next event; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>> {
        tokio::time::timeout(DEADLINE, self.read()).await.context("there was no event in time")?
    }

    async fn read(&mut self) -> Result<Option<Told>> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let told = parse(block)?;
                self.text = rest.to_owned();
                if told.is_some() {
                    return Ok(told);
                }
            }
            match self.body.next().await {
                Some(Ok(bytes)) => self.text.push_str(std::str::from_utf8(&bytes)?),
                Some(Err(_)) | None => return Ok(None),
            }
        }
    }

    /// All that there is until the stream ends.
    pub(crate) async fn rest(mut self) -> Result<Vec<Told>> {
        let mut all = Vec::new();
        while let Some(told) = self.next().await? {
            all.push(told);
        }
        Ok(all)
    }
}

/// None for a comment, which keeps the connection alive.
fn parse(block: &str) -> Result<Option<Told>> {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim_start().to_owned())
    };
    let Some(data) = field("data") else { return Ok(None) };
    Ok(Some(Told {
        id: field("id").unwrap_or_default(),
        kind: field("event").unwrap_or_default(),
        data: serde_json::from_str(&data)?,
    }))
}
