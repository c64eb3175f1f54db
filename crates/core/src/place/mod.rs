//! Which job goes next, and to which worker.
//!
//! A job is bound late: it stays in the central queue until a worker has room for it. The order of
//! jobs is their rank; the choice among workers is the strategy's.

pub mod availability;
pub mod backpressure;
pub mod breaker;
pub(crate) mod candidates;
pub(crate) mod choose;
pub(crate) mod curiosity;
pub mod hedge;
pub mod pace;
pub(crate) mod plan;
pub mod predictor;
pub(crate) mod queue;
pub mod rank;
pub(crate) mod score;
pub mod shadow;
pub(crate) mod sparing;
