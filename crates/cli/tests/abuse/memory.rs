//! What the scheduler uses.

use anyhow::{Context as _, Result};

use crate::site::Scheduler;

/// Bytes that are in memory now.
pub(crate) fn now(scheduler: &Scheduler) -> Result<u64> {
    account(scheduler, "VmRSS:")
}

/// The most that ever were.
pub(crate) fn peak(scheduler: &Scheduler) -> Result<u64> {
    account(scheduler, "VmHWM:")
}

/// A line of the kernel's account of the process.
fn account(scheduler: &Scheduler, line: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", scheduler.id()?))?;
    let found = status.lines().find(|text| text.starts_with(line)).context("no such line")?;
    let kilobytes: u64 = found.split_whitespace().nth(1).context("no value")?.parse()?;
    Ok(kilobytes << 10)
}
