//! Several schedulers, of which one at a time decides.
//!
//! A scheduler takes part through one door, [`Cluster`]: it is given what others have committed, told
//! who leads, and handed a journal when it is its own turn. Whether the schedulers agree by Raft or by
//! infrastructure that they share is nothing that it sees.
//!
//! Deliberately absent: what records mean, and what a leader decides.

mod clock;
mod door;
pub mod member;
pub mod raft;
pub mod shared;

pub use door::{Cluster, ClusterError, ClusterStatus, Leader, MemberId, MemberStatus, News, Role};
