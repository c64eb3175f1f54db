//! Workers that are stopped or killed around the effect of a job, and schedulers killed under them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::client::Job;
use bellwether_sdk::{Client, NewJob, v1};
use rustix::process::Signal;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::site::{DEADLINE, Site, eventually, signal};

/// A worker is given up after a second of silence, and a retry comes at once.
const QUICK: [(&str, &str); 4] = [
    ("heartbeat_interval", "100ms"),
    ("unreachable_after", "1s"),
    ("retry_base", "10ms"),
    ("hedge_budget_permille", "0"),
];

/// A scheduler with workers that are processes, and a job whose effect is a line in a file.
struct Stage {
    site: Site,
    client: Client,
}

impl Stage {
    fn new() -> Result<Stage> {
        let site = Site::new(&QUICK)?;
        let client = site.client()?;
        Ok(Stage { site, client })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.site.folder().join(name)
    }

    fn lines(&self, name: &str) -> Result<Vec<String>> {
        match std::fs::read_to_string(self.file(name)) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    async fn lines_are(&self, name: &str, count: usize) -> Result<()> {
        let what = format!("{name} has {count} lines");
        let enough = || async { Ok((self.lines(name)?.len() >= count).then_some(())) };
        eventually(&what, enough).await
    }

    /// Submits a script, which may wait for a file: `wait_for go`.
    async fn script(&self, id: &str, guarantee: v1::Guarantee, script: &str) -> Result<()> {
        // It gives up by itself, so that a test that fails leaves nothing behind.
        let prelude = "wait_for() { n=0; until [ -e \"$1\" ] || [ $n -ge 6000 ]; \
                       do n=$((n + 1)); sleep 0.01; done; }; echo $$ >> pids; ";
        let script = format!("{prelude}{script}");
        let payload = json!({ "argv": ["sh", "-c", script], "cwd": self.site.folder() });
        let job = NewJob::new("exec").id(id).guarantee(guarantee).payload(payload.to_string());
        self.client.submit(job).await?;
        Ok(())
    }

    fn go(&self) -> Result<()> {
        Ok(std::fs::write(self.file("go"), "")?)
    }

    fn worker(&self, id: &str) -> Result<Child> {
        Command::new(env!("CARGO_BIN_EXE_bellwether"))
            .args(["worker", "--server", &self.site.url(), "--id", id, "--slots", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.file(&format!("{id}.stderr")))?)
            .kill_on_drop(true)
            .spawn()
            .context("failed to start a worker")
    }

    /// The machine of the worker dies: the worker, and the script that it had started.
    async fn kill_machine(&self, mut worker: Child) -> Result<()> {
        worker.start_kill()?;
        worker.wait().await?;
        let script = self.lines("pids")?.pop().context("a script runs")?.parse()?;
        signal(script, Signal::KILL)
    }

    async fn ended(&self, id: &str) -> Result<Job> {
        let ended = tokio::time::timeout(DEADLINE, self.client.wait(id)).await??;
        // With its attempts, which only a look at the one job shows.
        Ok(self.client.job(id, ended.0.position).await?)
    }

    async fn completed(&self, id: &str) -> Result<Job> {
        let job = self.ended(id).await?;
        ensure!(job.state() == v1::JobState::Completed, "{job:?}");
        Ok(job)
    }

    async fn worker_is(&self, id: &str, wanted: impl Fn(&v1::Worker) -> bool) -> Result<()> {
        let what = format!("worker {id} is as wanted");
        eventually(&what, || async {
            let workers = self.client.workers(true).await?;
            let named = |worker: &&v1::Worker| worker.spec.as_ref().is_some_and(|s| s.id == id);
            Ok(workers.iter().find(named).filter(|worker| wanted(worker)).map(drop))
        })
        .await
    }
}

fn stdout(job: &Job) -> Result<String> {
    let output: serde_json::Value = serde_json::from_slice(job.result())?;
    Ok(output["stdout"].as_str().context("an output")?.trim().to_owned())
}

async fn holds(folder: &Path, stage: &Stage) -> Result<()> {
    let replay = stage.site.replay().await?;
    ensure!(replay.code == Some(0), "{}: {replay:?}", folder.display());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_of_a_worker_stopped_past_its_lease_is_refused() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let zombie = stage.worker("zombie")?;
    stage.worker_is("zombie", |worker| worker.connected).await?;
    let script = "echo $BELLWETHER_ATTEMPT >> effects; wait_for go; echo $BELLWETHER_ATTEMPT";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("effects", 1).await?;
    let process = zombie.id().context("it runs")?;
    signal(process, Signal::STOP)?;

    // Only the worker stands still, not its script: so there will be a result to refuse.
    let _heir = stage.worker("heir")?;
    stage.lines_are("effects", 2).await?;
    stage.go()?;
    let job = stage.completed("job").await?;
    ensure!(stdout(&job)? == "2", "{job:?}");
    ensure!(job.0.attempts.len() == 2 && job.0.crashes == 1, "{job:?}");

    signal(process, Signal::CONT)?;
    let back = |worker: &v1::Worker| worker.connected && worker.held.is_empty();
    stage.worker_is("zombie", back).await?;
    // It has reported by the time that it gets through with another job of its own.
    let next = NewJob::new("exec").id("next").receiver("zombie");
    stage.client.submit(next.payload(r#"{"argv":["true"]}"#)).await?;
    stage.completed("next").await?;
    let after = stage.client.job("job", 0).await?;
    ensure!(after.0.result_hash == job.0.result_hash && after.0.attempts == job.0.attempts);
    ensure!(stage.lines("effects")? == ["1", "2"]);
    holds(stage.site.folder(), &stage).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_before_the_effect_loses_nothing() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let doomed = stage.worker("doomed")?;
    let script = "echo >> begun; wait_for go; echo $BELLWETHER_ATTEMPT >> effects";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("begun", 1).await?;
    stage.kill_machine(doomed).await?;
    stage.go()?;
    let _heir = stage.worker("heir")?;
    let job = stage.completed("job").await?;
    ensure!(job.0.crashes == 1 && job.0.failures == 0, "{job:?}");
    ensure!(stage.lines("effects")? == ["2"], "the effect happened once");
    holds(stage.site.folder(), &stage).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_after_the_effect_makes_none_twice_with_the_token() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let doomed = stage.worker("doomed")?;
    let script = "t=$BELLWETHER_IDEMPOTENCY_TOKEN; touch effects; \
                  grep -qx \"$t\" effects || echo \"$t\" >> effects; echo >> done; wait_for go";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("done", 1).await?;
    stage.kill_machine(doomed).await?;
    let _heir = stage.worker("heir")?;
    stage.lines_are("done", 2).await?;
    stage.go()?;
    let job = stage.completed("job").await?;
    ensure!(job.0.attempts.len() == 2, "{job:?}");
    ensure!(stage.lines("effects")?.len() == 1, "the effect happened once");
    holds(stage.site.folder(), &stage).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_at_most_once_is_not_run_again_after_a_crash() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let doomed = stage.worker("doomed")?;
    let script = "echo >> effects; wait_for go";
    stage.script("job", v1::Guarantee::AtMostOnce, script).await?;
    stage.lines_are("effects", 1).await?;
    stage.kill_machine(doomed).await?;
    let _heir = stage.worker("heir")?;
    let job = stage.ended("job").await?;
    ensure!(job.state() != v1::JobState::Completed && job.0.attempts.len() == 1, "{job:?}");
    ensure!(stage.lines("effects")?.len() == 1);
    holds(stage.site.folder(), &stage).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_goes_on_while_the_scheduler_is_killed_and_restarted() -> Result<()> {
    let stage = Stage::new()?;
    let mut scheduler = stage.site.start().await?;
    let _worker = stage.worker("worker")?;
    let script = "echo $BELLWETHER_ATTEMPT >> effects; wait_for go; echo done";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("effects", 1).await?;
    for orderly in [false, true] {
        if orderly {
            scheduler.stop().await?
        } else {
            scheduler.kill().await?
        }
        scheduler = stage.site.start().await?;
        stage.worker_is("worker", |worker| worker.connected && worker.held.len() == 1).await?;
    }
    scheduler.kill().await?;
    // It ends while nobody is there to hear of it.
    stage.go()?;
    let _scheduler = stage.site.start().await?;
    let job = stage.completed("job").await?;
    ensure!(stdout(&job)? == "done" && job.0.attempts.len() == 1 && job.0.crashes == 0, "{job:?}");
    ensure!(stage.lines("effects")? == ["1"], "it ran once");
    holds(stage.site.folder(), &stage).await
}
