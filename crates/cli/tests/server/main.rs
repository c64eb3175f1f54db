//! The real binary as scheduler, worker and client.

mod commands;
mod durability;
mod fixture;
mod history;
mod logging;
mod measuring;
mod security;
mod types;
