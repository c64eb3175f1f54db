//! The real binary as a child process, on a data directory and an address that outlive it.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bellwether_sdk::{Backoff, Client};
use bellwether_testbed::signal;
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Longer than anything here should take on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// How often a condition is looked at.
const PULSE: Duration = Duration::from_millis(5);
/// Memory that must be free for data directories to live there.
const MEMORY_BYTES: u64 = 2 << 30;
/// Below the ports that the system hands out, so that nobody takes ours while a scheduler is down.
const FIRST_PORT: u16 = 7_100;
static SITES: AtomicU16 = AtomicU16::new(0);

/// Clients and workers come back at once: tests have no time to lose.
pub(crate) const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(5), most: Duration::from_millis(40) };

#[derive(Debug)]
pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub(crate) data_dir: PathBuf,
    grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    environment: Vec<(String, String)>,
}

impl Site {
    /// Settings are keys of `scheduler.yaml` with their values.
    pub(crate) fn new(settings: &[(&str, &str)]) -> Result<Site> {
        let folder = memory_folder()?;
        let data_dir = folder.path().join("data");
        let number = SITES.fetch_add(1, Ordering::Relaxed);
        // An address for each process, two ports for each site: all of 127.0.0.0/8 is loopback.
        let [_, high, middle, low] = std::process::id().to_be_bytes();
        let ip = Ipv4Addr::new(127, 1 + high % 120, middle, low);
        let port = FIRST_PORT + 2 * (number % 10_000);
        let (grpc, http) = ((ip, port).into(), (ip, port + 1).into());
        let mut site = Site { folder, data_dir, grpc, http, environment: Vec::new() };
        for (key, value) in settings {
            site.set(key, value);
        }
        Ok(site)
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        let variable = format!("BELLWETHER_{}", key.to_uppercase().replace('.', "_"));
        self.set_variable(&variable, value);
    }

    /// A variable of the scheduler's environment.
    pub(crate) fn set_variable(&mut self, variable: &str, value: &str) {
        self.environment.push((variable.to_owned(), value.to_owned()));
    }

    /// For what a test needs beside the data directory.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.grpc
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// One that is patient while the scheduler is down.
    pub(crate) fn client(&self) -> Result<Client> {
        let builder = Client::builder(self.url()).backoff(BACKOFF).patience(DEADLINE);
        Ok(builder.lazy()?)
    }

    /// A scheduler that serves.
    pub(crate) async fn start(&self) -> Result<Scheduler> {
        match self.launch(&[]).await? {
            Start::Serving(scheduler) => Ok(scheduler),
            Start::Ended { status, stderr } => {
                bail!("the scheduler did not start: {status} {stderr}")
            }
        }
    }

    /// Starts it, maybe under another program, and waits until it serves or has ended.
    pub(crate) async fn launch(&self, under: &[String]) -> Result<Start> {
        let stderr = self.folder.path().join("stderr");
        let mut words: Vec<String> = under.to_vec();
        words.push(env!("CARGO_BIN_EXE_bellwether").to_owned());
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .args(["serve", "--json", "--grpc", &self.grpc.to_string()])
            .args(["--http", &self.http.to_string(), "--data-dir"])
            .arg(&self.data_dir)
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&stderr)?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", words[0]))?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(DEADLINE, lines.next_line())
            .await
            .context("the scheduler neither serves nor ends")??;
        match line {
            Some(line) => {
                let hello: Value = serde_json::from_str(&line)?;
                ensure!(hello["grpc"] == self.grpc.to_string(), "{line}");
                Ok(Start::Serving(Scheduler { child }))
            }
            None => {
                let status = child.wait().await?;
                Ok(Start::Ended { status, stderr: std::fs::read_to_string(stderr)? })
            }
        }
    }

    /// Verifies the journal and recomputes every decision, with the real binary.
    pub(crate) async fn replay(&self) -> Result<Replay> {
        replay(&self.data_dir).await
    }
}

#[derive(Debug)]
pub(crate) enum Start {
    Serving(Scheduler),
    Ended { status: ExitStatus, stderr: String },
}

/// Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scheduler {
    child: Child,
}

impl Scheduler {
    pub(crate) fn id(&self) -> Result<u32> {
        self.child.id().context("it runs")
    }

    /// Returns once the process has ended.
    pub(crate) async fn ended(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait().await?)
    }

    /// As kill -9 does.
    pub(crate) async fn kill(mut self) -> Result<()> {
        self.child.start_kill()?;
        let status = self.child.wait().await?;
        ensure!(was_killed(status), "it ended by itself before: {status}");
        Ok(())
    }

    /// The same for one that somebody else may be killing just now.
    pub(crate) async fn end(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// In good order.
    pub(crate) async fn stop(mut self) -> Result<()> {
        signal(self.id()?, Signal::TERM)?;
        let status = tokio::time::timeout(DEADLINE, self.child.wait()).await??;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replay {
    pub(crate) code: Option<i32>,
    /// What it found; null if the journal is damaged.
    pub(crate) report: Value,
    pub(crate) stderr: String,
}

pub(crate) async fn replay(data_dir: &Path) -> Result<Replay> {
    let output = Command::new(env!("CARGO_BIN_EXE_bellwether"))
        .args(["replay", "--json", "--data-dir"])
        .arg(data_dir)
        .kill_on_drop(true)
        .output()
        .await?;
    Ok(Replay {
        code: output.status.code(),
        report: serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

pub(crate) fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

/// Waits until there is something to see.
pub(crate) async fn eventually<T, F>(what: &str, look: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let mut pulse = tokio::time::interval(PULSE);
    let looking = async {
        loop {
            pulse.tick().await;
            if let Some(found) = look().await? {
                return Ok(found);
            }
        }
    };
    let found = tokio::time::timeout(DEADLINE, looking).await;
    found.unwrap_or_else(|_| bail!("waited in vain until {what}"))
}

/// A killed process leaves the same behind on any file system, and memory is quick.
pub(crate) fn memory_folder() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let roomy = rustix::fs::statvfs(memory)
        .is_ok_and(|status| status.f_bavail * status.f_frsize > MEMORY_BYTES);
    Ok(if roomy { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? })
}
