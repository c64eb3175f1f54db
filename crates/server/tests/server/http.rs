//! Health, readiness and metrics; connections that say nothing.

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::fixture::{DEADLINE, Fixture, job};

async fn get(fixture: &Fixture, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(fixture.server.http_address()).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await??;
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_that_it_is_alive_and_ready_and_how_it_is() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    assert!(get(&fixture, "/healthz").await?.starts_with("HTTP/1.1 200"));
    assert!(get(&fixture, "/readyz").await?.ends_with("ready\n"));
    let metrics = get(&fixture, "/metrics").await?;
    assert!(metrics.contains("bellwether_jobs_live 1"), "{metrics}");
    assert!(metrics.contains("bellwether_journal_append_seconds_count"), "{metrics}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_keep_nobody_out() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.limits.connections_max = 8).await?;
    let mut idle = Vec::new();
    for _ in 0..500 {
        idle.push(TcpStream::connect(fixture.server.grpc_address()).await?);
    }
    fixture.submit(vec![job("a")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    assert_eq!(worker.offer().await?.job_id(), "a");
    Ok(())
}
