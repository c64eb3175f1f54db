//! REST, over real connections.

mod attack;
mod bulk;
mod client;
mod config;
mod dashboard;
mod docs;
mod document;
mod events;
mod jobs;
mod logs;
mod looking;
mod problems;
mod roles;
mod watching;
mod workers;
