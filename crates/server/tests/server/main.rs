//! The real server in this process, over real sockets.

mod config;
mod fixture;
mod life;
