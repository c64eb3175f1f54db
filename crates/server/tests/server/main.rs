//! The real server in this process, over real sockets.

mod config;
mod disk_full;
mod fixture;
mod history;
mod http;
mod life;
mod looking;
mod papers;
mod refusing;
mod rest;
mod security;
mod settings;
mod states;
mod webhooks;
