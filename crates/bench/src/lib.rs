//! How fast Bellwether is on a machine: the engine alone, everything together, through queues, with
//! everybody looking on, and with commands that print; and whether it lasts ([`soak`]). `bellwether
//! bench` and `bellwether soak` are its command lines; the options of a measurement are its arguments
//! there.
//!
//! What is measured end to end is the real thing: a scheduler is a child process of the calling
//! binary, which must understand `serve` and `worker`, and brokers are their real servers.
//!
//! Deliberately absent: any shortcut into the scheduler that a client does not have, except in
//! [`core`], which measures the engine without I/O.

pub mod broker_server;
pub mod cluster;
pub mod core;
mod disk;
pub mod end_to_end;
pub mod failover;
mod figures;
pub mod followers;
pub mod history;
mod http;
mod load;
pub mod output;
pub mod queue;
mod scheduler;
pub mod sinks;
pub mod soak;
mod stage;
mod submit;
pub mod trust;
pub mod waiting;

pub use figures::Sheet;
