//! Somebody who is told by webhooks of jobs that were cancelled or dead-lettered, and who refuses every
//! third post: it must come again.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use bellwether_testbed::write_secret;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// One of so many posts is refused.
const REFUSED_ONE_IN: u64 = 3;
/// Posts of one event, which are small.
const BODY_BYTES_MAX: usize = 1 << 20;
const SECRET: &str = "a secret that the soak shares with itself";

/// A lock, because those who follow jobs and those who receive posts write it.
#[derive(Debug, Default)]
pub(super) struct Received(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    posts: u64,
    /// Jobs that were told of, and those that must be.
    told: BTreeSet<String>,
    expected: BTreeSet<String>,
}

impl Received {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn expect(&self, job: &str) {
        let mut book = self.book();
        if !book.told.remove(job) {
            book.expected.insert(job.to_owned());
        }
    }

    /// Whether it is taken.
    fn take(&self, post: &serde_json::Value) -> bool {
        let mut book = self.book();
        book.posts += 1;
        if book.posts.is_multiple_of(REFUSED_ONE_IN) {
            return false;
        }
        // It may come twice: after a crash, for one.
        if let Some(job) = post["subject"].as_str()
            && !book.expected.remove(job)
        {
            book.told.insert(job.to_owned());
        }
        true
    }

    /// Those that nobody was told of.
    pub(super) fn missing(&self) -> Vec<String> {
        self.book().expected.iter().cloned().collect()
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) received: Arc<Received>,
    /// The scheduler's settings that make it post here.
    pub(super) config: PathBuf,
    _task: JoinSet<()>,
}

impl Receiver {
    pub(super) async fn start(folder: &Path) -> anyhow::Result<Receiver> {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(anywhere).await.context("failed to listen for posts")?;
        let (config, secret) = (folder.join("soak.yaml"), folder.join("secret"));
        write_secret(&secret, SECRET)?;
        let settings = serde_json::json!({ "webhooks": [{
            "url": format!("http://{}/", listener.local_addr()?),
            "kinds": "job_cancelled,job_dead_lettered",
            "secret_file": secret,
            "allow_private": true,
            "attempts_max": 100,
        }] });
        std::fs::write(&config, settings.to_string())?;
        let received = Arc::new(Received::default());
        let mut task = JoinSet::new();
        task.spawn(accept(listener, received.clone()));
        Ok(Receiver { received, config, _task: task })
    }
}

async fn accept(listener: TcpListener, received: Arc<Received>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let received = received.clone();
        connections.spawn(async move {
            // One that breaks off is made again.
            if let Err(error) = serve(stream, &received).await {
                tracing::debug!(%error, "a connection of webhooks has ended");
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, received: &Received) -> anyhow::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        anyhow::ensure!(length <= BODY_BYTES_MAX, "a post of {length} bytes");
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let status = match received.take(&serde_json::from_slice(&body)?) {
            true => "200 OK",
            false => "503 Service Unavailable",
        };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await?;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_refused_is_missing_until_it_comes_again() {
        let received = Received::default();
        for job in ["a", "b", "c"] {
            received.expect(job);
        }
        let taken = ["a", "b", "c"].map(|job| received.take(&json!({ "subject": job })));
        assert_eq!((taken, received.missing()), ([true, true, false], vec!["c".to_owned()]));
        assert!(received.take(&json!({ "subject": "c" })));
        assert!(received.missing().is_empty());
        // It may be told before anybody expects it.
        assert!(received.take(&json!({ "subject": "d" })));
        received.expect("d");
        assert!(received.missing().is_empty());
    }
}
