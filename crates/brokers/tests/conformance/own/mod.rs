//! What only one kind of queue has.

mod nats;
mod redis;
mod sqlite;
