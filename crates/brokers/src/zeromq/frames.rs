//! Messages to and from frames, and reading all that has arrived at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::FutureExt;
use zeromq::{SocketRecv, ZmqError, ZmqMessage};

use crate::channel::Channel;
use crate::intake::Inlet;
use crate::message::{Delivery, MessageId, Receipt, Token};

/// Which frames stand before the id and the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// The topic, or whom it is from.
    One,
    /// The topic, and after the id the error.
    TopicAndError,
}

/// Reads a socket until nobody wants to receive any more.
pub(super) async fn pump(
    socket: &mut (impl SocketRecv + Send),
    channel: &Channel,
    before: Before,
    batch_max: usize,
    inlet: &Inlet,
) -> Result<(), ZmqError> {
    loop {
        let first = tokio::select! {
            () = inlet.closed() => return Ok(()),
            first = socket.recv() => first?,
        };
        let mut batch = vec![delivery(first, channel, before)];
        while batch.len() < batch_max
            && let Some(next) = socket.recv().now_or_never()
        {
            batch.push(delivery(next?, channel, before));
        }
        if inlet.send(Ok(batch)).await.is_err() {
            return Ok(());
        }
    }
}

fn delivery(message: ZmqMessage, channel: &Channel, before: Before) -> Delivery {
    let mut frames = message.into_vec();
    let body = frames.pop().unwrap_or_default();
    let text = |frame: Bytes| String::from_utf8_lossy(&frame).into_owned();
    let (skipped, error) = match before {
        Before::Nothing => (0, None),
        Before::One => (1, None),
        Before::TopicAndError => (1, frames.pop().map(text)),
    };
    let given = frames.into_iter().skip(skipped).last().filter(|frame| !frame.is_empty());
    Delivery {
        id: Some(MessageId::new(given.map_or_else(fresh_id, text))),
        body,
        priority: None,
        redelivered: false,
        error,
        receipt: Receipt { channel: channel.clone(), token: Token::Settled },
    }
}

/// Nothing is ever delivered twice, so any id that no other message has will do.
fn fresh_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{now:x}-{}-{count}", std::process::id())
}

/// A message of an id, if there is one, and a body, behind what stands before.
pub(super) fn message(before: Option<String>, id: Option<&MessageId>, body: Bytes) -> ZmqMessage {
    let mut message = ZmqMessage::from(body);
    if let Some(id) = id {
        message.push_front(Bytes::from(id.as_str().to_owned()));
    }
    if let Some(before) = before {
        message.push_front(Bytes::from(before));
    }
    message
}
