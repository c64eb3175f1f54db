//! The scheduler, on a data directory and addresses that outlive it.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Backoff, Client};
use bellwether_testbed::{Ports, signal};
use rustix::process::Signal;
use tokio::process::Command;

use crate::scheduler::{Launch, Scheduler};

/// Clients and workers come back soon.
pub(super) const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(20), most: Duration::from_millis(500) };
/// How long a call tries to reach a scheduler that is down or stopped.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Site {
    folder: PathBuf,
    config: Option<PathBuf>,
    ports: Ports,
    settings: Vec<(&'static str, String)>,
    scheduler: Option<Scheduler>,
    process: Arc<AtomicU32>,
}

impl Site {
    /// Settings are variables of the scheduler's environment.
    pub(super) async fn start(
        folder: &Path,
        config: Option<PathBuf>,
        settings: Vec<(&'static str, String)>,
    ) -> anyhow::Result<Site> {
        let mut site = Site {
            folder: folder.to_owned(),
            config,
            ports: Ports::reserve()?,
            settings,
            scheduler: None,
            process: Arc::default(),
        };
        site.launch().await?;
        Ok(site)
    }

    async fn launch(&mut self) -> anyhow::Result<()> {
        let log = File::options().create(true).append(true).open(self.folder.join("stderr"))?;
        let data_dir = self.data_dir();
        let launched = Scheduler::launch(Launch {
            data_dir: &data_dir,
            config: self.config.as_deref(),
            settings: &self.settings,
            addresses: [self.address(0), self.address(1)],
            stderr: Stdio::from(log),
        });
        let scheduler = launched.await?;
        self.process.store(scheduler.process().unwrap_or(0), Ordering::Relaxed);
        self.scheduler = Some(scheduler);
        Ok(())
    }

    fn address(&self, offset: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.first + offset).into()
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address(0))
    }

    pub(super) fn http(&self) -> String {
        self.address(1).to_string()
    }

    /// The number of the scheduler's process, which changes with each start.
    pub(super) fn process(&self) -> Arc<AtomicU32> {
        self.process.clone()
    }

    /// One that is patient while the scheduler is down.
    pub(super) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::builder(self.url()).backoff(BACKOFF).patience(PATIENCE).lazy()?)
    }

    /// As kill -9 does, and another one takes its place at once.
    pub(super) async fn kill_and_start(&mut self) -> anyhow::Result<()> {
        let scheduler = self.scheduler.take().context("a scheduler runs")?;
        scheduler.stop().await?;
        self.launch().await.context("the scheduler did not start again after it was killed")
    }

    /// Stopped for so long; what happens meanwhile it finds when it goes on.
    pub(super) async fn pause(&self, length: Duration) -> anyhow::Result<()> {
        let process = self.process.load(Ordering::Relaxed);
        signal(process, Signal::STOP).context("the scheduler has ended by itself")?;
        tokio::time::sleep(length).await;
        Ok(signal(process, Signal::CONT)?)
    }

    /// Ends the scheduler in good order, and computes its journal anew. The text says what is wrong.
    pub(super) async fn end_and_replay(mut self) -> anyhow::Result<Option<String>> {
        let scheduler = self.scheduler.take().context("a scheduler runs")?;
        let status = scheduler.end().await?;
        if !status.success() {
            return Ok(Some(format!("the scheduler ended with {status}")));
        }
        let binary = std::env::current_exe().context("failed to find this binary")?;
        let replay = Command::new(binary)
            .args(["replay", "--json", "--data-dir"])
            .arg(self.data_dir())
            .kill_on_drop(true)
            .output()
            .await?;
        let (said, complaint) =
            (String::from_utf8_lossy(&replay.stdout), String::from_utf8_lossy(&replay.stderr));
        let wrong = format!("the journal does not replay: {}{}", said.trim(), complaint.trim());
        Ok((!replay.status.success()).then_some(wrong))
    }
}
