//! Schedulers that share a log in real servers, which the tests start, kill and pause.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backend;
mod conforms;
#[cfg(feature = "zookeeper")]
mod elected;
mod link;
mod losses;
mod scheduler;
mod takeover;
