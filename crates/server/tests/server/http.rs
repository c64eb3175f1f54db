//! Health, readiness and metrics; connections that say nothing.

use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::fixture::{DEADLINE, Fixture, job};

async fn get(fixture: &Fixture, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(fixture.server.http_address()).await?;
    let token = fixture.server.local_token().unwrap_or_default();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\n\r\n"
    );
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

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_nothing_that_is_admitted_is_let_go() -> Result<()> {
    let within = Duration::from_millis(50);
    let fixture = Fixture::with(|config| config.limits.admitted_within = within).await?;
    let mut idle = TcpStream::connect(fixture.server.grpc_address()).await?;
    idle.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await?;
    let mut said = Vec::new();
    // Closed or reset: both are an end.
    drop(tokio::time::timeout(DEADLINE, idle.read_to_end(&mut said)).await?);
    // A worker that was admitted stays, however long it has nothing to say.
    let mut worker = fixture.worker("w", 1).await?;
    let mut again = TcpStream::connect(fixture.server.grpc_address()).await?;
    again.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await?;
    drop(tokio::time::timeout(DEADLINE, again.read_to_end(&mut said)).await?);
    let mut fixture = fixture;
    fixture.submit(vec![job("a")]).await?;
    assert_eq!(worker.offer().await?.job_id(), "a");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_peer_can_not_keep_the_others_out() -> Result<()> {
    let fixture = Fixture::with(|config| config.limits.connections_max = 4).await?;
    let address = fixture.server.http_address();
    let health = async |from: &str| {
        let socket = TcpSocket::new_v4()?;
        socket.bind(format!("{from}:0").parse()?)?;
        let mut stream = socket.connect(address).await?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n").await?;
        let mut answer = Vec::new();
        // One that is refused is closed or reset.
        drop(tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await?);
        anyhow::Ok(answer.starts_with(b"HTTP/1.0 200"))
    };
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").await?;
        held.push(stream);
    }
    // Whoever comes is given the place of one that has shown no token for longest.
    let given_up = async |mut stream: TcpStream| {
        let mut rest = Vec::new();
        while health("127.0.0.1").await? {
            let brief = std::time::Duration::from_millis(10);
            if tokio::time::timeout(brief, stream.read_to_end(&mut rest)).await.is_ok() {
                return anyhow::Ok(());
            }
        }
        anyhow::bail!("a newcomer of the same peer was refused")
    };
    tokio::time::timeout(DEADLINE, given_up(held.remove(0))).await??;
    assert!(health("127.0.0.2").await?, "the other half is for others");
    Ok(())
}
