//! Who stands before the sockets. The library makes room for what a frame says that it will be, and keeps
//! the frames of a message until its last: somebody who claims much would end the process. So the sockets
//! listen on loopback, on a port that is told to nobody, and what is passed on to them is measured first.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use zeromq::{Endpoint, Socket};

/// What a message may have, all frames together: twice what a job may be submitted with.
const MESSAGE_BYTES_MAX: u64 = 32 << 20;
const FRAMES_MAX: u32 = 16;
/// Of one port.
const CONNECTIONS_MAX: usize = 4_096;
const BUFFER_BYTES: usize = 64 << 10;
/// Before the first frame.
const GREETING_BYTES: u64 = 64;
/// How long a socket may take to notice that its peer has hung up.
const GOODBYE: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Goes home when it is dropped.
#[derive(Debug)]
pub(super) struct Guard(JoinHandle<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Listen(#[from] std::io::Error),
    #[error(transparent)]
    Socket(#[from] zeromq::ZmqError),
}

/// A socket that is reached through a guard at this address.
pub(super) async fn open<S: Socket>(host: &str, port: u16) -> Result<(S, Guard), OpenError> {
    let listener = TcpListener::bind((host, port)).await?;
    let mut socket = S::new();
    let Endpoint::Tcp(_, behind) = socket.bind("tcp://127.0.0.1:0").await? else {
        return Err(std::io::Error::other("the socket does not listen").into());
    };
    let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, behind));
    Ok((socket, Guard(tokio::spawn(stand(listener, behind)))))
}

async fn stand(listener: TcpListener, behind: SocketAddr) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // Those who are let in go when the guard does.
    let mut inside = tokio::task::JoinSet::new();
    loop {
        while inside.try_join_next().is_some() {}
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection of ZeroMQ could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::warn!(%peer, "too many connections of ZeroMQ; refused");
            continue;
        };
        inside.spawn(async move {
            if let Err(error) = pass(stream, behind).await {
                tracing::debug!(%peer, %error, "a connection of ZeroMQ has ended");
            }
            drop(place);
        });
    }
}

/// Until one of them hangs up.
async fn pass(outside: TcpStream, behind: SocketAddr) -> std::io::Result<()> {
    let inside = TcpStream::connect(behind).await?;
    outside.set_nodelay(true)?;
    inside.set_nodelay(true)?;
    let ((heard, mut told), (mut answers, forward)) = (outside.into_split(), inside.into_split());
    let answered = async {
        let copied = tokio::io::copy(&mut answers, &mut told).await;
        copied.map(drop)
    };
    tokio::pin!(answered);
    tokio::select! {
        // What was forwarded is to be read to its end, so the other direction is not cut off.
        forwarded = measure(heard, forward) => {
            forwarded?;
            tokio::time::timeout(GOODBYE, answered).await.unwrap_or(Ok(()))
        }
        answered = &mut answered => answered,
    }
}

async fn measure(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> std::io::Result<()> {
    let (mut measure, mut buffer) = (Measure::default(), vec![0; BUFFER_BYTES]);
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        if let Err(too_much) = measure.see(&buffer[..read]) {
            tracing::warn!(%too_much, "a connection of ZeroMQ is closed");
            return Err(std::io::Error::other(too_much));
        }
        to.write_all(&buffer[..read]).await?;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum TooMuch {
    #[error("a message claims {0} bytes; at most {MESSAGE_BYTES_MAX} are taken")]
    Bytes(u64),
    #[error("a message has more than {FRAMES_MAX} frames")]
    Frames,
}

/// How far a message has come.
#[derive(Debug)]
struct Measure {
    state: Expected,
    bytes: u64,
    frames: u32,
}

#[derive(Debug, Clone, Copy)]
enum Expected {
    Flags,
    /// So many bytes of the length, and what is known of it.
    Length {
        left: u8,
        length: u64,
        more: bool,
    },
    Body {
        left: u64,
        more: bool,
    },
}

impl Default for Measure {
    fn default() -> Measure {
        Measure { state: Expected::Body { left: GREETING_BYTES, more: false }, bytes: 0, frames: 0 }
    }
}

impl Measure {
    fn see(&mut self, mut bytes: &[u8]) -> Result<(), TooMuch> {
        while let [first, rest @ ..] = bytes {
            (self.state, bytes) = match self.state {
                Expected::Flags => {
                    let left = if first & 2 == 0 { 1 } else { 8 };
                    (Expected::Length { left, length: 0, more: first & 1 != 0 }, rest)
                }
                Expected::Length { left, length, more } => {
                    let length = length << 8 | u64::from(*first);
                    let next = match left {
                        1 => self.frame(length, more)?,
                        left => Expected::Length { left: left - 1, length, more },
                    };
                    (next, rest)
                }
                Expected::Body { left, more } => {
                    let seen = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    (self.body(left - seen as u64, more), &bytes[seen..])
                }
            };
        }
        Ok(())
    }

    fn frame(&mut self, length: u64, more: bool) -> Result<Expected, TooMuch> {
        self.frames += 1;
        self.bytes = self.bytes.saturating_add(length);
        if self.bytes > MESSAGE_BYTES_MAX {
            return Err(TooMuch::Bytes(self.bytes));
        }
        if self.frames > FRAMES_MAX {
            return Err(TooMuch::Frames);
        }
        Ok(self.body(length, more))
    }

    fn body(&mut self, left: u64, more: bool) -> Expected {
        if left > 0 {
            return Expected::Body { left, more };
        }
        if !more {
            (self.bytes, self.frames) = (0, 0);
        }
        Expected::Flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(parts: &[&[u8]]) -> Result<(), TooMuch> {
        let sent = [&[&[0xff; 64][..]], parts].concat().concat();
        let mut whole = Measure::default();
        let in_one = whole.see(&sent);
        let mut measure = Measure::default();
        let one_by_one = sent.iter().try_for_each(|byte| measure.see(std::slice::from_ref(byte)));
        assert_eq!(in_one, one_by_one);
        in_one
    }

    #[test]
    fn what_is_within_bounds_passes_and_claims_do_not() {
        let long = |length: u64, more: u8| [&[2 | more][..], &length.to_be_bytes()].concat();
        assert_eq!(seen(&[&[4, 3], b"abc", &[1, 2], b"ab", &[0, 0], &[0, 1], b"x"]), Ok(()));
        assert_eq!(seen(&[&long(MESSAGE_BYTES_MAX, 0)]), Ok(()));
        let over = MESSAGE_BYTES_MAX + 1;
        assert_eq!(seen(&[&long(over, 0)]), Err(TooMuch::Bytes(over)));
        assert_eq!(seen(&[&long(u64::MAX, 1)]), Err(TooMuch::Bytes(u64::MAX)));
        assert_eq!(seen(&[&[1, 1], b"x", &long(over - 1, 0)]), Err(TooMuch::Bytes(over)));
        assert_eq!(seen(&[&[1, 0].repeat(17)]), Err(TooMuch::Frames));
        assert_eq!(seen(&[&[&[1, 0].repeat(15)[..], &[0, 0]].concat().repeat(3)]), Ok(()));
    }
}
