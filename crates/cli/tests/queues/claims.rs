//! What a frame claims to be is not believed.

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::broker_server::Kind;
use bellwether_brokers::{Backend, Side};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{Site, message};

/// How ZeroMQ begins: signature, version 3.0, the mechanism NULL.
fn greeting() -> Vec<u8> {
    let mut greeting = vec![0; 64];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

#[tokio::test]
async fn a_frame_that_claims_more_than_there_is_ends_its_connection_alone() -> Result<()> {
    let site = Site::start(Kind::ZeroMq).await?;
    let worker = site.worker()?;
    let Backend::ZeroMq(zeromq) = site.server.settings(Side::Outside).backend else {
        anyhow::bail!("it is another queue");
    };
    let client = site.client()?;
    for (port, claim) in
        (0..3).flat_map(|port| [1u64 << 46, 1 << 40, 1 << 33].map(|claim| (port, claim)))
    {
        let address = (zeromq.address.host.as_str(), zeromq.address.port + port);
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(&greeting()).await?;
        stream.write_all(&[&[2][..], &claim.to_be_bytes()].concat()).await?;
        let mut rest = Vec::new();
        let closed = stream.read_to_end(&mut rest);
        // With an error or without, but at once.
        let closed = tokio::time::timeout(crate::site::DEADLINE, closed).await;
        drop(closed.context("the connection is closed")?);
        client.status().await.context("the scheduler is still there")?;
    }
    site.outside()?.publish(vec![message("m", &json!({"id": "j", "type": "count"}))]).await?;
    worker.has_run(1).await?;
    ensure!(site.log().contains("at most 33554432 are taken"), "{}", site.log());
    Ok(())
}
