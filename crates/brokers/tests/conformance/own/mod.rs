//! What only one kind of queue has.

mod nats;
mod rabbitmq;
mod redis;
mod sqlite;
