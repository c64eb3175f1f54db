//! The doors: what comes in is parsed here and sent to the loop, and what came of it is told.

pub mod contain;
pub(crate) mod desk;
pub(crate) mod explain;
pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod listener;
mod places;
pub mod queues;
pub(crate) mod registrar;
pub(crate) mod rest;
pub(crate) mod room;
pub mod security;
pub(crate) mod session;
mod strangers;
pub mod webhooks;
mod wrong_door;
