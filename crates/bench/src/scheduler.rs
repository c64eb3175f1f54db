//! The scheduler that is measured: one that runs, or a child process of this binary.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const START_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) enum Scheduler {
    Running(String),
    Started { child: Box<Child>, address: String, http: String },
}

impl Scheduler {
    /// `settings` are variables of its environment.
    pub(crate) async fn start(
        data_dir: &Path,
        config: Option<&Path>,
        settings: &[(&str, String)],
    ) -> anyhow::Result<Scheduler> {
        let binary = std::env::current_exe().context("failed to find this binary")?;
        let mut child = Command::new(binary)
            .args(["serve", "--json", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(data_dir)
            .args(config.iter().flat_map(|config| [Path::new("--config"), config]))
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start a scheduler")?;
        let stdout = child.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START_WITHIN, lines.next_line())
            .await
            .context("the scheduler did not start in time")??
            .context("the scheduler ended at once")?;
        let hello: serde_json::Value = serde_json::from_str(&line)?;
        let grpc = hello["grpc"].as_str().context("the scheduler did not say its address")?;
        let http = hello["http"].as_str().context("the scheduler did not say its address")?;
        let (address, http) = (format!("http://{grpc}"), http.to_owned());
        Ok(Scheduler::Started { child: Box::new(child), address, http })
    }

    pub(crate) fn address(&self) -> &str {
        match self {
            Scheduler::Running(address) | Scheduler::Started { address, .. } => address,
        }
    }

    /// Where HTTP is served; unknown of one that we did not start.
    pub(crate) fn http(&self) -> Option<&str> {
        match self {
            Scheduler::Running(_) => None,
            Scheduler::Started { http, .. } => Some(http),
        }
    }

    /// The most memory that it has used; unknown of one that we did not start.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let Scheduler::Started { child, .. } = self else { return None };
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()?)).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Its number; unknown of one that we did not start.
    pub(crate) fn process(&self) -> Option<u32> {
        match self {
            Scheduler::Running(_) => None,
            Scheduler::Started { child, .. } => child.id(),
        }
    }

    /// At once: its data is thrown away, and it may have much to tidy up.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        let Scheduler::Started { mut child, .. } = self else { return Ok(()) };
        child.kill().await.context("failed to stop the scheduler")
    }
}
