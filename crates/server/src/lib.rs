//! The scheduler as a server: one loop that owns the engine, and the edges around it.
//!
//! [`Server::start`] recovers the state from a data directory and serves it. Edges parse what
//! comes, send it to the loop in batches, and tell what came of it once that is durable.
//!
//! Deliberately absent: decisions, which are the core's alone, and any second way to change state.

mod clickhouse;
mod clock;
pub mod config;
mod descriptors;
mod desk;
mod explain;
pub mod fatal;
mod grpc;
mod history;
mod http;
pub mod identity;
mod listener;
mod metrics;
pub mod position;
mod priority;
pub mod queues;
pub mod registry;
mod rest;
mod scheduler;
pub mod security;
pub mod server;
mod session;
mod space;
mod telemetry;
mod trace;
pub mod webhooks;

pub use config::ServerConfig;
pub use scheduler::RecoverError;
pub use server::{Server, StartError};
