//! A broker, a scheduler with it in front, and a worker that counts what it runs.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bellwether_brokers::{Broker, Channel, MessageId, Outgoing, Side};
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Backoff, Client, Context, Outcome, Worker};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use bellwether_bench::broker_server::{BrokerServer, Kind};

/// Longer than anything here should take on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
pub(crate) const PULSE: Duration = Duration::from_millis(10);
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(5), most: Duration::from_millis(40) };

#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) server: BrokerServer,
    folder: tempfile::TempDir,
    scheduler: Option<Child>,
    pub(crate) address: String,
    more: String,
    trusted: bool,
}

impl Site {
    pub(crate) async fn start(kind: Kind) -> Result<Site> {
        Site::start_with(kind, "").await
    }

    /// `more` is added to the configuration of the scheduler.
    pub(crate) async fn start_with(kind: Kind, more: &str) -> Result<Site> {
        Site::begin(kind, more, false).await
    }

    /// The queue vouches for workers that have no key.
    pub(crate) async fn start_trusting(kind: Kind) -> Result<Site> {
        Site::begin(kind, "", true).await
    }

    async fn begin(kind: Kind, more: &str, trusted: bool) -> Result<Site> {
        let folder = tempfile::tempdir()?;
        let server = BrokerServer::start(kind, folder.path()).await?;
        let (address, more) = ("127.0.0.1:0".to_owned(), more.to_owned());
        let mut site = Site { server, folder, scheduler: None, address, more, trusted };
        site.launch().await?;
        Ok(site)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the scheduler, or starts it again on the same data and address.
    pub(crate) async fn launch(&mut self) -> Result<()> {
        let config = self.path("scheduler.yaml");
        let text = format!("queue: {}\n{}\n", self.server.config(), self.more);
        std::fs::write(&config, text)?;
        let log = std::fs::File::options().create(true).append(true).open(self.path("log"))?;
        let mut child = bellwether()
            .args(["serve", "--json", "--http", "127.0.0.1:0", "--grpc", &self.address])
            .arg("--config")
            .arg(config)
            .arg("--data-dir")
            .arg(self.path("data"))
            .env("BELLWETHER_QUEUE_TRUSTED", self.trusted.to_string())
            .env("BELLWETHER_QUEUE_UNKNOWN_DEPENDENCY_WAIT", "5s")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let Some(line) = tokio::time::timeout(DEADLINE, lines.next_line()).await?? else {
            bail!("the scheduler ended: {}", self.log());
        };
        let hello: Value = serde_json::from_str(&line)?;
        self.address = hello["grpc"].as_str().context("an address")?.to_owned();
        self.scheduler = Some(child);
        Ok(())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// As kill -9 does.
    pub(crate) async fn kill_scheduler(&mut self) -> Result<()> {
        let mut scheduler = self.scheduler.take().context("it runs")?;
        Ok(scheduler.kill().await?)
    }

    /// In good order.
    pub(crate) async fn stop_scheduler(&mut self) -> Result<()> {
        let mut scheduler = self.scheduler.take().context("it runs")?;
        let id = i32::try_from(scheduler.id().context("it runs")?)?;
        let pid = rustix::process::Pid::from_raw(id).context("process ids are not zero")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = tokio::time::timeout(DEADLINE, scheduler.wait()).await??;
        anyhow::ensure!(status.success(), "{status}: {}", self.log());
        Ok(())
    }

    /// For producers and listeners.
    pub(crate) fn outside(&self) -> Result<Arc<dyn Broker>> {
        self.outside_as("outside")
    }

    /// For the worker of this name.
    pub(crate) fn outside_as(&self, worker: &str) -> Result<Arc<dyn Broker>> {
        let mut settings = self.server.settings(Side::Outside);
        settings.consumer = worker.to_owned();
        Ok(bellwether_brokers::open(settings)?)
    }

    pub(crate) fn client(&self) -> Result<Client> {
        let address = format!("http://{}", self.address);
        Ok(Client::builder(address).backoff(BACKOFF).patience(DEADLINE).lazy()?)
    }

    pub(crate) fn worker(&self) -> Result<Counter> {
        Counter::start(&format!("http://{}", self.address))
    }
}

/// A worker over gRPC that counts the runs of each job.
#[derive(Debug)]
pub(crate) struct Counter {
    /// Kept, because it ends when it is dropped.
    _worker: RunningWorker,
    // Shared by the handlers, which run on several threads.
    runs: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Counter {
    fn start(address: &str) -> Result<Counter> {
        let runs: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let counted = Arc::clone(&runs);
        let handler = move |context: Context| {
            let mut runs = counted.lock().unwrap_or_else(PoisonError::into_inner);
            *runs.entry(context.id().to_owned()).or_default() += 1;
            std::future::ready(Outcome::done(""))
        };
        let worker = Worker::builder(address)
            .id("counter")
            .slots(64)
            .backoff(BACKOFF)
            .job("count", handler)
            .start()?;
        Ok(Counter { _worker: worker, runs })
    }

    pub(crate) fn runs(&self) -> BTreeMap<String, usize> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) async fn has_run(&self, jobs: usize) -> Result<()> {
        let enough = || async { Ok((self.runs().len() >= jobs).then_some(())) };
        eventually(&format!("{jobs} jobs have run"), enough).await
    }
}

pub(crate) fn message(id: impl Into<String>, body: &Value) -> Outgoing {
    let mut message = Outgoing::new(Channel::Jobs, body.to_string());
    message.id = Some(MessageId::new(id));
    message
}

pub(crate) fn bellwether() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.env_remove("BELLWETHER_SERVER").kill_on_drop(true);
    command
}

/// The Python that the tests were set up with.
pub(crate) fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python")
}

/// Looks again and again, because another process has to get there.
pub(crate) async fn eventually<T, F>(what: &str, mut look: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if begun.elapsed() > DEADLINE {
            bail!("waited in vain until {what}");
        }
        tokio::time::sleep(PULSE).await;
    }
}
