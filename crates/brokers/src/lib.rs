//! The queues that a team already has, behind one trait: jobs come in from them, offers go out to
//! workers that speak only the queue, their replies come in, and lifecycle events go out.
//!
//! This crate carries messages. What they mean, which of them are jobs and when a delivery may be
//! acknowledged is decided by the server.
