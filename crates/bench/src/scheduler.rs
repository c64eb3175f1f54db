//! The scheduler that is measured: one that runs, or a child process of this binary.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use bellwether_testbed::signal;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const START_WITHIN: Duration = Duration::from_secs(30);
const STOP_WITHIN: Duration = Duration::from_secs(60);

/// How a scheduler is started.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) data_dir: &'a Path,
    pub(crate) config: Option<&'a Path>,
    /// Variables of its environment.
    pub(crate) settings: &'a [(&'a str, String)],
    /// Where it serves gRPC and HTTP.
    pub(crate) addresses: [SocketAddr; 2],
    /// For what it has to say.
    pub(crate) stderr: Stdio,
}

impl<'a> Launch<'a> {
    /// Wherever there is a port.
    pub(crate) fn anywhere(
        data_dir: &'a Path,
        config: Option<&'a Path>,
        settings: &'a [(&'a str, String)],
    ) -> Launch<'a> {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Launch { data_dir, config, settings, addresses: [anywhere; 2], stderr: Stdio::inherit() }
    }
}

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
        Scheduler::launch(Launch::anywhere(data_dir, config, settings)).await
    }

    /// Returns once it serves.
    pub(crate) async fn launch(launch: Launch<'_>) -> anyhow::Result<Scheduler> {
        let Launch { data_dir, config, settings, addresses: [grpc, http], stderr } = launch;
        let binary = std::env::current_exe().context("failed to find this binary")?;
        let mut child = Command::new(binary)
            .args(["serve", "--json", "--grpc", &grpc.to_string(), "--http", &http.to_string()])
            .arg("--data-dir")
            .arg(data_dir)
            .args(config.iter().flat_map(|config| [Path::new("--config"), config]))
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
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
        self.memory_of("VmHWM:")
    }

    /// The memory that it uses now.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory_of("VmRSS:")
    }

    /// Its peak counts from now on.
    pub(crate) fn forget_peak_memory(&self) -> std::io::Result<()> {
        match self.process() {
            // See proc(5): 5 resets the peak.
            Some(process) => std::fs::write(format!("/proc/{process}/clear_refs"), "5"),
            None => Ok(()),
        }
    }

    fn memory_of(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process()?)).ok()?;
        let line = status.lines().find(|line| line.starts_with(name))?;
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

    /// In good order.
    pub(crate) async fn end(self) -> anyhow::Result<ExitStatus> {
        let Scheduler::Started { mut child, .. } = self else {
            anyhow::bail!("a scheduler that was not started here is not ours to end");
        };
        signal(child.id().context("the scheduler has ended by itself")?, Signal::TERM)?;
        let ended = tokio::time::timeout(STOP_WITHIN, child.wait()).await;
        Ok(ended.context("the scheduler did not end in time")??)
    }

    /// At once: its data is thrown away, and it may have much to tidy up.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        let Scheduler::Started { mut child, .. } = self else { return Ok(()) };
        child.kill().await.context("failed to stop the scheduler")
    }
}
