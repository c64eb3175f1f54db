//! Running jobs.
//!
//! `desk` is what a worker holds and owes, without any I/O; `session` is one connection; `link`
//! connects again and again. Handlers run beside them, started by `executor`.

mod builder;
mod calibration;
mod context;
mod credentials;
mod desk;
mod executor;
mod handler;
pub mod key;
mod link;
mod logs;
mod machine;
mod outcome;
mod rotate;
mod session;

pub use builder::{Worker, WorkerBuilder};
pub use context::Context;
pub use handler::Handler;
pub use link::{RunningWorker, WorkerError};
pub use outcome::{IntoOutcome, Outcome};
pub use rotate::rotate_key;
