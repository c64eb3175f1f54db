//! The real server in this process, over real sockets.

mod fixture;
mod life;
