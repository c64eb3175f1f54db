//! What durable events add up to, for those who ask and those who look on.

pub(crate) mod history;
pub mod keys;
pub(crate) mod logs;
pub(crate) mod pulse;
pub mod registry;
pub(crate) mod telemetry;
