//! Messages on their way in and out.

use std::fmt;

use bytes::Bytes;

use crate::channel::Channel;
use crate::error::BrokerError;

/// What makes a message itself: two deliveries of one channel with the same id are the same message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(String);

impl MessageId {
    /// An id which a publisher gives to its message.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message that came in and must be settled with its receipt.
#[derive(Debug)]
pub struct Delivery {
    /// The same at every delivery of the same message, to whomever, over restarts of the broker. It
    /// is what the publisher gave (Redis field `id`, AMQP property `message_id`, header
    /// `Nats-Msg-Id`, SQLite column `message_id`), else what the broker gave (stream entry, stream
    /// sequence, row).
    ///
    /// None only from RabbitMQ, which has no ids of its own: if the publisher sets none either, a
    /// redelivery can be told only by what is in the body.
    pub id: Option<MessageId>,
    /// The message, byte for byte.
    pub body: Bytes,
    /// The broker's own priority of the message, where it has one.
    pub priority: Option<u8>,
    /// Whether it may have been delivered before. False is certain only of this broker object.
    pub redelivered: bool,
    /// On the channel of dead letters: why the message is there.
    pub error: Option<String>,
    /// To settle it with.
    pub receipt: Receipt,
}

/// Settles one delivery, once. Dropping it settles nothing: the message comes again when this
/// process is gone.
#[derive(Debug)]
#[must_use = "a delivery that is never settled is held until the process ends"]
pub struct Receipt {
    pub(crate) channel: Channel,
    pub(crate) token: Token,
}

impl Receipt {
    /// Where the delivery came from.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}

/// How a backend finds the message again.
#[derive(Debug)]
pub(crate) enum Token {
    /// Nothing is left to settle.
    Settled,
    /// Redis: its entry.
    Entry(String),
    /// NATS: where to acknowledge it.
    Subject(async_nats::Subject),
    /// RabbitMQ: how to acknowledge it, and where it came from.
    Tag(lapin::Acker, std::sync::Arc<lapin::Channel>),
    /// SQLite: its row.
    Row(i64),
}

/// How a delivery ends.
#[derive(Debug)]
pub enum Settlement {
    /// It was taken in durably. The broker forgets it.
    Done(Receipt),
    /// It is given back and will be delivered again, to this or another process, not necessarily in
    /// its old place in the order.
    Release(Receipt),
    /// It can't be read and never will: the broker keeps its bytes and the error on the channel of
    /// dead letters, and then forgets the original.
    DeadLetter {
        /// The whole delivery, as it came.
        delivery: Box<Delivery>,
        /// Why.
        error: String,
    },
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Where to.
    pub channel: Channel,
    /// Carried with the message and found again in [`Delivery::id`]. NATS drops a second message
    /// with the same id within two minutes.
    pub id: Option<MessageId>,
    /// The message.
    pub body: Bytes,
    /// For brokers with priorities; higher is sooner. Others ignore it.
    pub priority: Option<u8>,
}

impl Outgoing {
    /// A message without id and priority.
    pub fn new(channel: Channel, body: impl Into<Bytes>) -> Self {
        Self { channel, id: None, body: body.into(), priority: None }
    }
}

/// Refuses what can only be made by settling.
pub(crate) fn may_be_published(messages: &[Outgoing]) -> Result<(), BrokerError> {
    if messages.iter().any(|message| message.channel == Channel::Dead) {
        return Err(BrokerError::misuse("dead letters are made by settling, not by publishing"));
    }
    Ok(())
}
