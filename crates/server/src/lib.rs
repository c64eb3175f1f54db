//! The scheduler as a server: one loop that owns the engine, and the edges around it.
//!
//! [`Server::start`] recovers the state from a data directory and serves it. Edges parse what
//! comes, send it to the loop in batches, and tell what came of it once that is durable.
//!
//! Deliberately absent: decisions, which are the core's alone, and any second way to change state.

pub mod backup;
pub mod checkpoints;
mod cluster;
pub mod config;
pub mod descriptors;
mod disk_budget;
pub mod edges;
pub mod event_loop;
pub mod identity;
mod log_rate;
pub mod position;
mod priority;
pub mod projections;
pub mod server;
mod sinks;

pub use cluster::{
    ClusterOpenError, Enrolled, init as begin_cluster, join as join_cluster,
    recover as recover_shared_journal,
};
pub use config::ServerConfig;
pub use edges::desk::{ReloadWish, Reloaded};
pub use event_loop::RecoverError;
pub use server::{Server, StartError};
