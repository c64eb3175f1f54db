//! A scheduler with workers that are processes, and jobs whose effects are lines in files.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::client::Job;
use bellwether_sdk::{Client, NewJob, v1};
use bellwether_testbed::signal;
use rustix::process::Signal;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::site::{DEADLINE, Site, eventually};

/// A worker is given up after a second of silence, and a retry comes at once.
pub(crate) const QUICK: [(&str, &str); 4] = [
    ("heartbeat_interval", "100ms"),
    ("unreachable_after", "1s"),
    ("retry_base", "10ms"),
    ("hedge_budget_permille", "0"),
];

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) site: Site,
    pub(crate) client: Client,
}

impl Stage {
    pub(crate) fn new() -> Result<Stage> {
        Stage::on(Site::new(&QUICK)?)
    }

    pub(crate) fn on(site: Site) -> Result<Stage> {
        let client = site.client()?;
        Ok(Stage { site, client })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.site.folder().join(name)
    }

    pub(crate) fn lines(&self, name: &str) -> Result<Vec<String>> {
        match std::fs::read_to_string(self.file(name)) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn lines_are(&self, name: &str, count: usize) -> Result<()> {
        let what = format!("{name} has {count} lines");
        let enough = || async { Ok((self.lines(name)?.len() >= count).then_some(())) };
        eventually(&what, enough).await
    }

    /// Submits a script, which may wait for a file: `wait_for go`.
    pub(crate) async fn script(
        &self,
        id: &str,
        guarantee: v1::Guarantee,
        script: &str,
    ) -> Result<()> {
        self.client.submit(self.job(id, script).guarantee(guarantee)).await?;
        Ok(())
    }

    pub(crate) fn job(&self, id: &str, script: &str) -> NewJob {
        // It gives up by itself, so that a test that fails leaves nothing behind.
        let prelude = "wait_for() { n=0; until [ -e \"$1\" ] || [ $n -ge 6000 ]; \
                       do n=$((n + 1)); sleep 0.01; done; }; echo $$ >> pids; ";
        let script = format!("{prelude}{script}");
        let payload = json!({ "argv": ["sh", "-c", script], "cwd": self.site.folder() });
        NewJob::new("exec").id(id).payload(payload.to_string())
    }

    pub(crate) fn go(&self) -> Result<()> {
        Ok(std::fs::write(self.file("go"), "")?)
    }

    pub(crate) fn worker(&self, id: &str) -> Result<Child> {
        self.worker_with(id, 1)
    }

    pub(crate) fn worker_with(&self, id: &str, slots: u32) -> Result<Child> {
        Command::new(env!("CARGO_BIN_EXE_bellwether"))
            .args(["worker", "--server", &self.site.url(), "--id", id])
            .args(["--slots", &slots.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.file(&format!("{id}.stderr")))?)
            .kill_on_drop(true)
            .spawn()
            .context("failed to start a worker")
    }

    /// The machine of the worker dies: the worker, and the script that it had started.
    pub(crate) async fn kill_machine(&self, mut worker: Child) -> Result<()> {
        worker.start_kill()?;
        worker.wait().await?;
        let script = self.lines("pids")?.pop().context("a script runs")?.parse()?;
        Ok(signal(script, Signal::KILL)?)
    }

    pub(crate) async fn ended(&self, id: &str) -> Result<Job> {
        let ended = tokio::time::timeout(DEADLINE, self.client.wait(id)).await??;
        // With its attempts, which only a look at the one job shows.
        Ok(self.client.job(id, ended.0.position).await?)
    }

    pub(crate) async fn completed(&self, id: &str) -> Result<Job> {
        let job = self.ended(id).await?;
        ensure!(job.state() == v1::JobState::Completed, "{job:?}");
        Ok(job)
    }

    /// The journal is whole, and every decision in it follows from what was before.
    pub(crate) async fn holds(&self) -> Result<()> {
        let replay = self.site.replay().await?;
        ensure!(replay.code == Some(0), "{}: {replay:?}", self.site.folder().display());
        Ok(())
    }

    pub(crate) async fn worker_is(
        &self,
        id: &str,
        wanted: impl Fn(&v1::Worker) -> bool,
    ) -> Result<()> {
        let what = format!("worker {id} is as wanted");
        eventually(&what, || async {
            let workers = self.client.workers(true).await?;
            let named = |worker: &&v1::Worker| worker.spec.as_ref().is_some_and(|s| s.id == id);
            Ok(workers.iter().find(named).filter(|worker| wanted(worker)).map(drop))
        })
        .await
    }
}

pub(crate) fn stdout(job: &Job) -> Result<String> {
    let output: serde_json::Value = serde_json::from_slice(job.result())?;
    Ok(output["stdout"].as_str().context("an output")?.trim().to_owned())
}
