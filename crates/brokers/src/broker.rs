//! The trait, and the contract between the scheduler and whatever queue is in front of it.

use futures_util::future::BoxFuture;

use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::{Delivery, Outgoing, Settlement};
use crate::promises::Promises;
use crate::report::Report;

/// What every operation gives: a boxed future, so that queues of different kinds can stand side by
/// side.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, BrokerError>>;

/// A queue in front of the scheduler.
///
/// # Connections
/// The broker connects and reconnects by itself, with growing pauses. [`receive`](Self::receive)
/// simply waits meanwhile. [`settle`](Self::settle) and [`publish`](Self::publish) fail with
/// [`BrokerError::Lost`] instead, because only the caller knows what is worth trying again.
///
/// # Deliveries
/// A message that was received belongs to this broker until it is settled, however long that takes:
/// the broker tells the server that it is still being worked on. If the process dies, or the
/// connection is lost, the message is delivered again under the same [`Delivery::id`], possibly to
/// another process. Where [`Promises::delivered`] is at most once, a message is gone as soon as it
/// was received.
///
/// # Bounds
/// At most about two times `prefetch` messages per channel are held here before somebody receives
/// them. Who stops calling `receive` leaves the rest in the broker, or in the sender where there is
/// no broker.
pub trait Broker: Send + Sync + std::fmt::Debug {
    /// What this kind of queue can promise, which does not change while it is open.
    fn promises(&self) -> Promises;

    /// Waits for the first message of a channel and gives it with those that have come besides, at
    /// least one and at most `max`, in the order in which each producer sent them (within one
    /// priority, where there are priorities).
    ///
    /// Cancel safe: a dropped future has taken nothing. Calls for the same channel take turns.
    ///
    /// # Errors
    /// [`BrokerError::Refused`] if the server refuses for a reason that waiting will not cure; the
    /// next call tries again. Never `Lost`.
    fn receive<'a>(&'a self, channel: &'a Channel, max: usize) -> Answer<'a, Vec<Delivery>>;

    /// Ends deliveries: see [`Settlement`] for the three ways. When it returns the server has taken
    /// it in; of [`Settlement::DeadLetter`] the copy is safe before the original is acknowledged.
    ///
    /// # Errors
    /// [`BrokerError::Lost`] if some of them may not have been settled. Nothing is to be done then:
    /// those come again, under the same id.
    fn settle(&self, settlements: Vec<Settlement>) -> Answer<'_, ()>;

    /// Sends messages, in this order per channel, and returns when the server has confirmed all of
    /// them; with [`Promises::durable`] they survive a crash of the server from then on.
    ///
    /// # Errors
    /// [`BrokerError::Lost`] if some of them may not have been sent. Sending the whole batch again
    /// loses nothing, and may send some of them twice (under the same [`Outgoing::id`]).
    fn publish(&self, messages: Vec<Outgoing>) -> Answer<'_, ()>;

    /// How many messages wait in the broker; RabbitMQ leaves out those that were received and are not
    /// settled. None where the broker can't tell.
    ///
    /// # Errors
    /// `Lost` or `Refused`.
    fn backlog<'a>(&'a self, channel: &'a Channel) -> Answer<'a, Option<u64>>;

    /// Whether the server can be reached and used: its version, its permissions, its queues. What is
    /// missing and can be made is made.
    fn check(&self) -> BoxFuture<'_, Report>;
}
