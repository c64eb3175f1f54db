//! The Rust client and worker library.
//!
//! [`Client`] submits jobs, follows them and steers the scheduler. [`Worker`] runs jobs: register a
//! handler for each type, and it connects, takes what it is offered, reports results in batches,
//! and goes on with what it runs when the scheduler restarts.
//!
//! ```no_run
//! use bellwether_sdk::{Client, Context, NewJob, Outcome, Worker};
//!
//! async fn resize(context: Context) -> Outcome {
//!     Outcome::done(context.payload().clone())
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("http://127.0.0.1:7070").await?;
//! client.submit(NewJob::new("resize").id("photo-1").payload("{}")).await?;
//! Worker::builder("http://127.0.0.1:7070").slots(4).job("resize", resize).run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Deliberately absent: what a job means, and any state of the scheduler. What the library keeps is
//! what the scheduler has not confirmed yet.

mod backoff;
pub mod client;
mod connection;
mod credentials;
pub mod error;
mod fleet;
mod job;
mod random;
pub mod worker;

pub use backoff::Backoff;
pub use bellwether_wire::v1;
pub use client::{Client, ClientBuilder};
pub use connection::{ClientIdentity, Security};
pub use error::{ClientError, Refusal};
pub use job::{NewJob, Run};
pub use random::{automatic_key, new_id};
pub use worker::{Context, Outcome, Worker, WorkerBuilder, WorkerError};
