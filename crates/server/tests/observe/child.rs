//! A server of somebody else, as a child process that ends with the test.

use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

/// Killed when dropped.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Running> {
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = started.spawn().with_context(|| format!("failed to run {command:?}"))?;
        Ok(Running(child))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
