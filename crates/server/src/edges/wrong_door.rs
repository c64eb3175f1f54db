//! Who speaks TLS where there is none, or does not where there is: told so before anything else, and
//! heard out for a moment, because a connection that is closed with something unread takes back what was
//! said last.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The first byte of whoever speaks TLS: a record of its handshake.
const HANDSHAKE: u8 = 22;
/// How HTTP/2 begins.
const HTTP_2: u8 = b'P';
const HEARD_FOR: Duration = Duration::from_secs(2);
const HEARD_BYTES_MAX: usize = 64 << 10;

const WANTS_TLS: &str = "this address speaks TLS; write https://";
const WANTS_PLAIN: &str = "this address does not speak TLS; write http://";

/// What to say to a connection that begins with this byte; nothing if it came to the right door.
pub(super) fn answer(first: u8, with_tls: bool) -> Option<Vec<u8>> {
    match (first, with_tls) {
        (HANDSHAKE, true) => None,
        (HTTP_2, true) => Some(goaway(WANTS_TLS)),
        (_, true) => Some(bad_request(WANTS_TLS)),
        // Whoever waits for a handshake knows by anything else that there is none.
        (HANDSHAKE, false) => Some(bad_request(WANTS_PLAIN)),
        (_, false) => None,
    }
}

/// Says it, and waits until it has been heard.
pub(super) async fn turn_away(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    let hear = async {
        let (mut heard, mut buffer) = (0, [0; 1024]);
        while heard < HEARD_BYTES_MAX {
            match stream.read(&mut buffer).await? {
                0 => break,
                read => heard += read,
            }
        }
        std::io::Result::Ok(())
    };
    // Whoever does not hang up is hung up on.
    tokio::time::timeout(HEARD_FOR, hear).await.unwrap_or(Ok(()))
}

fn bad_request(why: &str) -> Vec<u8> {
    let length = why.len() + 1;
    format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{why}\n"
    )
    .into_bytes()
}

/// The settings that a server begins with, and the end of the connection for want of security.
fn goaway(why: &str) -> Vec<u8> {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const LAST_STREAM: [u8; 4] = [0; 4];
    const INADEQUATE_SECURITY: [u8; 4] = [0, 0, 0, 0xc];
    let length = u8::try_from(8 + why.len()).expect("it is a short sentence");
    let header = [0, 0, length, 7, 0, 0, 0, 0, 0];
    [&SETTINGS[..], &header, &LAST_STREAM, &INADEQUATE_SECURITY, why.as_bytes()].concat()
}
