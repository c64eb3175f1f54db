//! The server's version, which it tells in the first frame of every connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::settings::Address;

const GREETING: &[u8] = b"AMQP\x00\x00\x09\x01";

/// The key of the version in the frame, with the type of its value: a long string.
const VERSION_KEY: &[u8] = b"\x07versionS";

/// More than the first frame of any server.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// Asks for the version over plain TCP. None if nobody answers like that.
pub(super) async fn version(address: &Address, patience: Duration) -> Option<String> {
    tokio::time::timeout(patience, ask(address)).await.ok().flatten()
}

async fn ask(address: &Address) -> Option<String> {
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await.ok()?;
    stream.write_all(GREETING).await.ok()?;
    let mut frame = Vec::new();
    while frame.len() < FRAME_BYTES_MAX {
        if stream.read_buf(&mut frame).await.ok()? == 0 {
            return None;
        }
        if let Some(version) = version_in(&frame) {
            return Some(version);
        }
    }
    None
}

fn version_in(frame: &[u8]) -> Option<String> {
    let at = frame.windows(VERSION_KEY.len()).position(|window| window == VERSION_KEY)?;
    let (length, rest) = frame[at + VERSION_KEY.len()..].split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    String::from_utf8(rest.get(..length)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn the_version_is_found_once_it_is_complete() {
        let frame = b"....\x07productS\x00\x00\x00\x08RabbitMQ\x07versionS\x00\x00\x00\x063.10.8..";
        assert_eq!(version_in(frame).as_deref(), Some("3.10.8"));
        assert_eq!(version_in(&frame[..frame.len() - 4]), None);
    }
}
