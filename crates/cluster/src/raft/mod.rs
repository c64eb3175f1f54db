//! Schedulers that agree by Raft.
//!
//! The common log is openraft's, and none of its types leaves this folder. Around it is our own
//! [`crate::member`]: it decides when to stand for election, when to give signs of life, how long a
//! lease holds and when to step down. A log entry is one record of the journal. What is committed is
//! verified and kept by every member, so each can answer questions and take over at once.
//!
//! Deliberately absent: the engine. Whoever drives [`RaftCluster`] applies what is committed.

mod bell;
mod board;
mod cluster;
mod journal;
mod membership;
mod network;
mod node;
mod service;
mod start;
mod store;
mod types;
mod wire;

pub use cluster::{RaftCluster, RaftHandle};
pub use membership::MembershipError;
pub use network::{PeerSecurity, PeerTls};
pub use start::{JoinError, RaftOptions, StartError};
pub use types::Place;
