//! A scheduler, workers with keys of their own, and whoever wants to be one of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bellwether_sdk::worker::{RunningWorker, key};
use bellwether_sdk::{Backoff, Client, Context, Outcome, Security, Worker, WorkerBuilder};
use bellwether_wire::signing::Secret;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
const PULSE: Duration = Duration::from_millis(10);
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(5), most: Duration::from_millis(40) };

pub(crate) struct Site {
    folder: tempfile::TempDir,
    config: String,
    scheduler: tokio::process::Child,
    pub(crate) grpc: String,
    pub(crate) http: SocketAddr,
}

impl Site {
    /// `config` is what the scheduler's file says.
    pub(crate) async fn start(config: &str) -> Result<Site> {
        let folder = tempfile::tempdir()?;
        let (scheduler, grpc, http) = launch(&folder, config, "127.0.0.1:0").await?;
        Ok(Site { folder, config: config.to_owned(), scheduler, grpc, http })
    }

    /// The same, reached by https.
    pub(crate) async fn start_with_tls(config: &str) -> Result<Site> {
        let mut site = Site::start(config).await?;
        site.grpc = site.grpc.replace("http://", "https://");
        Ok(site)
    }

    /// kill -9, and a new start on the same data and port.
    pub(crate) async fn crash_and_restart(&mut self) -> Result<()> {
        self.scheduler.kill().await?;
        let port = self.grpc.trim_start_matches("http://").to_owned();
        let (scheduler, grpc, http) = launch(&self.folder, &self.config, &port).await?;
        (self.scheduler, self.grpc, self.http) = (scheduler, grpc, http);
        Ok(())
    }

    /// In good order.
    pub(crate) async fn terminate(&mut self) -> Result<()> {
        let id = i32::try_from(self.scheduler.id().context("it runs")?)?;
        let pid = rustix::process::Pid::from_raw(id).context("process ids are not zero")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = tokio::time::timeout(DEADLINE, self.scheduler.wait()).await??;
        anyhow::ensure!(status.success(), "{status}");
        Ok(())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn client(&self) -> Result<Client> {
        let security = Security { token: Some(self.token()?), ..Security::default() };
        let builder = Client::builder(&self.grpc).security(security);
        Ok(builder.backoff(BACKOFF).patience(DEADLINE).lazy()?)
    }

    /// The token that the scheduler has made at its first start.
    pub(crate) fn token(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.path("data/token"))?.trim().to_owned())
    }

    /// The key of a worker of this name.
    pub(crate) fn secret(&self, name: &str) -> Result<Secret> {
        Ok(key::load_or_make(&self.path(&format!("{name}.key")))?)
    }

    pub(crate) fn builder(&self, id: &str) -> WorkerBuilder {
        let key = self.path(&format!("{id}.key"));
        let token = self.token().expect("the first start makes one");
        Worker::builder(&self.grpc).token(token).id(id).slots(64).backoff(BACKOFF).key_file(key)
    }

    /// One that holds what it gets.
    pub(crate) async fn holder(&self, id: &str) -> Result<RunningWorker> {
        let worker = self.builder(id).job("t", |context: Context| async move {
            context.cancelled().await;
            Outcome::retry("cancelled")
        });
        self.joined(worker.start()?).await
    }

    /// One that is done at once.
    pub(crate) async fn doer(&self, id: &str) -> Result<RunningWorker> {
        let worker = self
            .builder(id)
            .job("t", |context: Context| async move { Outcome::done(context.payload().clone()) });
        self.joined(worker.start()?).await
    }

    pub(crate) async fn joined(&self, worker: RunningWorker) -> Result<RunningWorker> {
        let client = self.client()?;
        until("the worker is known", || async {
            let known = client.workers(false).await?;
            let is_it = |known: &bellwether_sdk::v1::Worker| {
                known.connected && known.spec.as_ref().is_some_and(|spec| spec.id == worker.id())
            };
            Ok(known.iter().any(is_it))
        })
        .await?;
        Ok(worker)
    }

    /// The job as its history has it, once it is in this state.
    pub(crate) async fn job(&self, id: &str, state: &str) -> Result<Value> {
        let mut last = Value::Null;
        let begun = Instant::now();
        while begun.elapsed() < DEADLINE {
            let (status, job) = self.get(&format!("/scheduler/jobs/{id}")).await?;
            if status == 200 && job["state"] == state {
                return Ok(job);
            }
            last = job;
            tokio::time::sleep(PULSE).await;
        }
        bail!("{id} never was {state}: {last}")
    }

    pub(crate) async fn get(&self, path: &str) -> Result<(u16, Value)> {
        self.send("GET", path, b"").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        self.send("POST", path, body.to_string().as_bytes()).await
    }

    async fn send(&self, method: &str, path: &str, body: &[u8]) -> Result<(u16, Value)> {
        let (length, token) = (body.len(), self.token()?);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(self.http).await?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        let status = head.split_whitespace().nth(1).context("no status")?.parse()?;
        Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bellwether"));
        command.args(arguments).env("BELLWETHER_SERVER", &self.grpc);
        command.env("XDG_STATE_HOME", self.path("state"));
        command.env("BELLWETHER_TOKEN_FILE", self.path("data/token"));
        command
    }

    /// Its exit code, and what it said.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<(Option<i32>, String)> {
        let output = self.command(arguments).stdin(Stdio::null()).output()?;
        let told = [output.stdout, output.stderr].concat();
        Ok((output.status.code(), String::from_utf8(told)?))
    }

    pub(crate) fn fine(&self, arguments: &[&str]) -> Result<String> {
        match self.run(arguments)? {
            (Some(0), told) => Ok(told),
            (code, told) => bail!("{arguments:?} ended with {code:?}: {told}"),
        }
    }
}

async fn launch(
    folder: &tempfile::TempDir,
    config: &str,
    grpc: &str,
) -> Result<(tokio::process::Child, String, SocketAddr)> {
    let file = folder.path().join("scheduler.yaml");
    std::fs::write(&file, format!("{config}\n"))?;
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_bellwether"))
        .args(["serve", "--json", "--http", "127.0.0.1:0", "--grpc", grpc, "--config"])
        .arg(file)
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = child.stdout.take().context("its output is piped")?;
    let line = tokio::time::timeout(DEADLINE, BufReader::new(stdout).lines().next_line()).await??;
    let hello: Value = serde_json::from_str(&line.context("the scheduler ended")?)?;
    let grpc = format!("http://{}", hello["grpc"].as_str().context("an address")?);
    Ok((child, grpc, hello["http"].as_str().context("an address")?.parse()?))
}

/// Looks again and again, because another process has to get there.
pub(crate) async fn until<F: Future<Output = Result<bool>>>(
    what: &str,
    holds: impl Fn() -> F,
) -> Result<()> {
    let begun = Instant::now();
    while !holds().await? {
        anyhow::ensure!(begun.elapsed() < DEADLINE, "waited in vain until {what}");
        tokio::time::sleep(PULSE).await;
    }
    Ok(())
}

/// Killed when dropped.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
