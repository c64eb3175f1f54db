//! Where what happened is sent, or fetched from, by other systems.

pub(crate) mod clickhouse;
pub(crate) mod metrics;
pub(crate) mod trace;
