//! Room for what is being sent: so many bytes in all, and no more than half of them for one peer, so that
//! nobody can keep all others out. Of what somebody sends who was not let in nothing is kept, so nobody
//! takes room before.
//!
//! Room is taken as bytes arrive, so that whoever announces much and sends little holds little.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use rustc_hash::FxHashMap;
use tonic::Status;
use tonic::body::Body;

use super::places::peer_of;

/// Bytes that are held at a time, for all requests together.
const ALL_BYTES: usize = 128 << 20;
/// Before a message of gRPC: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

#[derive(Debug, Clone)]
pub(crate) struct Room {
    all_bytes: usize,
    peer_bytes: usize,
    // Held to count some more or some less.
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_peer: FxHashMap<IpAddr, usize>,
}

/// What one request holds; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    room: Room,
    peer: IpAddr,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too much is being sent at the same time; try again")]
pub(crate) struct Full;

impl Room {
    /// One peer can always send one message of the largest size.
    pub(crate) fn new(message_bytes_max: usize) -> Room {
        let all_bytes = ALL_BYTES.max(2 * message_bytes_max);
        Room { all_bytes, peer_bytes: all_bytes / 2, held: Arc::default() }
    }

    pub(crate) fn part(&self, peer: IpAddr) -> Part {
        Part { room: self.clone(), peer: peer_of(peer), bytes: 0 }
    }
}

impl Part {
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Full> {
        let Room { all_bytes, peer_bytes, held } = &self.room;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = held.by_peer.get(&self.peer).copied().unwrap_or(0);
        if held.all + bytes > *all_bytes || of_peer + bytes > *peer_bytes {
            return Err(Full);
        }
        held.all += bytes;
        held.by_peer.insert(self.peer, of_peer + bytes);
        self.bytes += bytes;
        Ok(())
    }

    fn give_back(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut held = self.room.held.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = std::mem::take(&mut self.bytes);
        held.all -= bytes;
        if let Some(of_peer) = held.by_peer.get_mut(&self.peer) {
            *of_peer -= bytes;
            if *of_peer == 0 {
                held.by_peer.remove(&self.peer);
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// What a client sends over gRPC. A message that is complete is whoever's it is for, and takes no room any
/// more when the next one is asked for.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) body: Body,
    pub(crate) part: Part,
    pub(crate) messages: Messages,
}

/// Where messages end.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    prefix: Vec<u8>,
    /// Bytes of the message that have not come yet.
    missing: usize,
}

impl Messages {
    fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let seen = match self.missing {
                0 => {
                    let seen = bytes.len().min(PREFIX_BYTES - self.prefix.len());
                    self.prefix.extend_from_slice(&bytes[..seen]);
                    if let Ok([_, length @ ..]) = <[u8; PREFIX_BYTES]>::try_from(&*self.prefix) {
                        self.missing = u32::from_be_bytes(length) as usize;
                        self.prefix.clear();
                    }
                    seen
                }
                missing => {
                    let seen = bytes.len().min(missing);
                    self.missing -= seen;
                    seen
                }
            };
            bytes = &bytes[seen..];
        }
    }

    fn is_between(&self) -> bool {
        self.missing == 0 && self.prefix.is_empty()
    }
}

impl hyper::body::Body for Measured {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Measured { body, part, messages } = &mut *self;
        if messages.is_between() {
            part.give_back();
        }
        let frame = ready!(Pin::new(body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            if let Err(full) = part.take(data.len()) {
                return Poll::Ready(Some(Err(Status::resource_exhausted(full.to_string()))));
            }
            messages.see(data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_peer_can_not_take_all_room() {
        let room = Room::new(1 << 20);
        let (mut first, mut second) = (room.part(peer("10.0.0.1")), room.part(peer("10.0.0.1")));
        let mut other = room.part(peer("10.0.0.2"));
        first.take(ALL_BYTES / 4).unwrap();
        second.take(ALL_BYTES / 4).unwrap();
        assert_eq!(second.take(1), Err(Full));
        other.take(ALL_BYTES / 2).unwrap();
        drop(first);
        second.take(ALL_BYTES / 4).unwrap();
        assert_eq!(room.part(peer("10.0.0.3")).take(1), Err(Full));
        drop((second, other));
        let held = room.held.lock().unwrap();
        assert!(held.all == 0 && held.by_peer.is_empty());
    }

    #[test]
    fn messages_end_where_their_lengths_say() {
        let mut messages = Messages::default();
        let sent = [&[0, 0, 0, 0, 3][..], b"abc", &[0, 0, 0, 0, 0], &[1, 0, 0, 1, 0]].concat();
        let mut ends = Vec::new();
        for (at, byte) in sent.iter().enumerate() {
            messages.see(std::slice::from_ref(byte));
            ends.extend(messages.is_between().then_some(at));
        }
        assert_eq!(ends, [7, 12]);
        messages.see(&[0; 256]);
        assert!(messages.is_between());
    }
}
