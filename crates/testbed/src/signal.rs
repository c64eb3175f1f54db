//! Signals to processes that a test has started.

use std::io;

use rustix::process::{Pid, Signal, kill_process};

/// # Errors
/// When there is no such process.
pub fn signal(process: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a process has a number"))?;
    Ok(kill_process(pid, signal)?)
}
