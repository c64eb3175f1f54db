//! REST, over real connections.

mod attack;
mod client;
mod document;
mod jobs;
mod problems;
