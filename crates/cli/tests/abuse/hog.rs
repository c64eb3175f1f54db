//! One peer that sends as much as it can and never ends: others have room all the same.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::memory;
use crate::site::Site;

/// Bodies that are begun, what each announces, and what it sends of it: more than there is room for.
const BODIES: usize = 50;
const ANNOUNCED: usize = 8 << 20;
const SENT: usize = 4 << 20;
/// Half of the room, and what a scheduler needs besides.
const GROWTH_MAX: u64 = 160 << 20;

async fn connect(from: [u8; 4], to: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    Ok(socket.connect(to).await?)
}

fn head(bearer: &str, length: usize) -> String {
    format!(
        "POST /scheduler/jobs HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_sends_without_end_leaves_room_for_others() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let bearer = site.bearer()?;
    let before = memory::now(&scheduler)?;
    let piece = vec![b' '; SENT];
    let mut open = Vec::new();
    for _ in 0..BODIES {
        let mut stream = connect([127, 0, 0, 1], site.http).await?;
        stream.write_all(head(&bearer, ANNOUNCED).as_bytes()).await?;
        // Whoever is refused need not be heard to the end.
        drop(stream.write_all(&piece).await);
        open.push(stream);
    }
    let mut stranger = connect([127, 0, 0, 2], site.http).await?;
    let body = br#"{"type":"t","id":"j"}"#;
    stranger.write_all(head(&bearer, body.len()).as_bytes()).await?;
    stranger.write_all(body).await?;
    let mut answer = [0; 64];
    let read = stranger.read(&mut answer).await?;
    let answer = std::str::from_utf8(&answer[..read])?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let grown = memory::peak(&scheduler)?.saturating_sub(before);
    ensure!(grown < GROWTH_MAX, "{grown} bytes");
    // Whoever came too late was told so.
    let last = open.last_mut().context("they are open")?;
    let mut answer = vec![0; 512];
    let read = last.read(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    ensure!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    scheduler.stop().await?;
    Ok(())
}
