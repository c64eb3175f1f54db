//! The real binary as scheduler, worker and client.

mod commands;
mod confined;
mod durability;
mod fixture;
mod history;
mod keys;
mod logging;
mod measuring;
mod output;
mod room;
mod security;
mod types;
